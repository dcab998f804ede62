/* process_surface: how processes, threads and signals come and go, with file I/O in each of them.
 *
 * Each part can be run by itself and verifies exit codes, file contents, and that it comes to an end: an alarm ends
 * the program after a minute, as a deadlock would otherwise keep it. The parts work in a folder of their own, which
 * is empty again at the end of each. `fd3` and `fd-exhausted` start the program anew under RLIMIT_NOFILE = 4: the
 * first file the program opens must get descriptor 3.
 *
 *   process_surface [--dir PATH] [part ...]
 */
#include "surface.h"
#include "../parts.h"

enum { SECONDS_ALLOWED = 60 };

char self[4096];

static const struct part parts[] = {
    {"fork", forking},
    {"vfork", vforking},
    {"spawn", spawning},
    {"shell", shell_commands},
    {"wait", waiting},
    {"daemon", daemon_style},
    {"exec", exec_chain},
    {"exec-fails", exec_failures},
    {"exec-thread", exec_from_thread},
    {"ends", ways_to_end},
    {"join", threads_join},
    {"detach", threads_detach},
    {"cancel", threads_cancel},
    {"short-threads", threads_short},
    {"main-leaves", main_leaves_first},
    {"thread-forks", fork_from_thread},
    {"handler", writing_handler},
    {"siglongjmp", jumping_handler},
    {"closefrom", closing_all},
    {"fd3", three_descriptors},
    {"fd-exhausted", no_descriptor_left},
    {NULL, NULL},
};

int child_main(char **words)
{
    if (words[0] && strcmp(words[0], "exit") == 0 && words[1])
        return atoi(words[1]);
    if (words[0] && strcmp(words[0], "append") == 0 && words[1] && words[2]) {
        append_text(words[1], words[2]);
        return 0;
    }
    if (words[0] && strcmp(words[0], "print") == 0 && words[1])
        return puts(words[1]) < 0;
    if (words[0] && strcmp(words[0], "chain") == 0 && words[1])
        return chain_link(atoi(words[1]));
    if (words[0] && strcmp(words[0], "fd3") == 0)
        return under_three_descriptors();
    if (words[0] && strcmp(words[0], "fd-exhausted") == 0)
        return with_no_descriptor_left();
    fprintf(stderr, "process_surface: no child does this\n");
    return 2;
}

int main(int argc, char **argv)
{
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    CHECK(length > 0);
    if (argc > 2 && strcmp(argv[1], "--child") == 0)
        return child_main(argv + 2);
    alarm(SECONDS_ALLOWED);
    return parts_main(argc, argv, "process_surface", parts);
}
