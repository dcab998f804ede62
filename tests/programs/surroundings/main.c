/* surroundings: programs that change what is around them, to the worse for whoever records them.
 *
 * Each part verifies itself and comes to an end: an alarm ends the program after a minute. The parts work in a folder
 * of their own, which is empty again at the end of each. Where a test is to count in the trace what a part has done,
 * the numbers stand in the part's comment. What a part may not do on this machine it leaves out, says so on standard
 * error, and goes on as if it had.
 *
 *   surroundings [--dir PATH] [part ...]
 */
#include "cases.h"
#include "../parts.h"

enum { SECONDS_ALLOWED = 60 };

char self[4096];

static const struct part parts[] = {
    {"many-writes", many_writes},
    {"chroot", root_changed},
    {"chroot-user", root_and_user_changed},
    {"user", user_changed},
    {"user-first", user_changed_at_start},
    {"user-of-files", user_of_files_changed},
    {"namespaces", names_changed},
    {"strict", strict_mode},
    {"filter-kills", filter_that_kills},
    {"filter-kills-long", filter_that_kills_long},
    {"filter-refuses", filter_that_refuses},
    {"filter-others", filter_with_others},
    {"filter-text", filter_of_text},
    {"dispatched", dispatched_calls},
    {"filters-inherited", filters_that_kill_others},
    {"filter-harmless", filter_that_kills_nobody},
    {"file-size", files_limited},
    {"given-back", memory_given_back},
    {"address-space", memory_limited},
    {"locked-memory", memory_locked},
    {"descriptors", descriptors_limited},
    {"environment", environment_replaced},
    {"preload", preload_replaced},
    {NULL, NULL},
};

/* Of these, only what is named runs: they need a variable that says which folder is meant. */
static const struct part with_folder[] = {
    {"hidden", folder_hidden},
    {"removed", folder_removed},
    {"open-files", threads_with_open_files},
    {NULL, NULL},
};

int write_file(const char *name)
{
    append_text(name, "child");
    return 0;
}

static int child_main(const char *what, char **words)
{
    if (strcmp(what, "write") == 0 && words[0])
        return write_file(words[0]);
    fprintf(stderr, "surroundings: no child does this\n");
    return 2;
}

int main(int argc, char **argv)
{
    ssize_t length = readlinkat(AT_FDCWD, "/proc/self/exe", self, sizeof self - 1);
    CHECK(length > 0);
    if (argc > 2 && strcmp(argv[1], "--child") == 0)
        return child_main(argv[2], argv + 3);
    alarm(SECONDS_ALLOWED);
    return parts_main(argc, argv, "surroundings", getenv("FOLDER") ? with_folder : parts);
}
