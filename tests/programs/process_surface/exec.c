/* Replacing the program: every exec call in one chain, calls that fail, and exec from a thread. */
#include "surface.h"
#include <pthread.h>

extern char **environ;

/* Becomes the next link through the call that belongs to its number; the last one ends with code 42. */
int chain_link(int left)
{
    char name[16], number[16];
    snprintf(name, sizeof name, "link %d\n", left);
    append_text("chain", name);
    snprintf(number, sizeof number, "%d", left - 1);
    char *const words[] = {self, "--child", "chain", number, NULL};
    switch (left) {
    case 8:
        execv(self, words);
        break;
    case 7:
        execve(self, words, environ);
        break;
    case 6:
        execvp(self, words);
        break;
    case 5:
        execvpe(self, words, environ);
        break;
    case 4:
        execl(self, self, "--child", "chain", number, (char *)NULL);
        break;
    case 3:
        execle(self, self, "--child", "chain", number, (char *)NULL, environ);
        break;
    case 2:
        execlp(self, self, "--child", "chain", number, (char *)NULL);
        break;
    case 1: {
        int fd = open(self, O_RDONLY | O_CLOEXEC);
        fexecve(fd, words, environ);
        break;
    }
    default:
        return 42;
    }
    return 1;
}

void exec_chain(void)
{
    pid_t child = fork_child();
    if (child == 0)
        _exit(chain_link(8));
    check_exit(child, 42);
    check_and_remove("chain", "link 8\nlink 7\nlink 6\nlink 5\nlink 4\nlink 3\nlink 2\nlink 1\nlink 0\n");

    /* Descriptors that are not closed on exec stay, and keep their position. */
    int fd = open("file", O_WRONLY | O_CREAT | O_EXCL, 0644);
    CHECK_EQ(write(fd, "before ", 7), 7);
    child = fork_child();
    if (child == 0) {
        if (dup2(fd, STDOUT_FILENO) != STDOUT_FILENO)
            _exit(1);
        execl(self, self, "--child", "print", "after", (char *)NULL);
        _exit(1);
    }
    check_exit(child, 0);
    CHECK_OK(close(fd));
    check_and_remove("file", "before after\n");
}

/* A program goes on after an exec that failed. */
void exec_failures(void)
{
    char *const words[] = {"missing", NULL};
    append_text("file", "no program");
    CHECK_FAILS(execv("missing", words), ENOENT);
    CHECK_FAILS(execv("file", words), EACCES);
    CHECK_FAILS(execve(".", words, environ), EACCES);
    CHECK_FAILS(execl("file/below", "below", (char *)NULL), ENOTDIR);
    CHECK_FAILS(execvp("no-such-command-anywhere", words), ENOENT);
    check_and_remove("file", "no program");
}

static void *become_another(void *unused)
{
    (void)unused;
    execl(self, self, "--child", "exit", "33", (char *)NULL);
    _exit(1);
}

static void *wait_forever(void *unused)
{
    while (pause() == -1)
        ;
    return unused;
}

/* exec ends all other threads of the process, the first one among them. */
void exec_from_thread(void)
{
    pid_t child = fork_child();
    if (child == 0) {
        pthread_t waiting, becoming;
        CHECK_OK(pthread_create(&waiting, NULL, wait_forever, NULL));
        CHECK_OK(pthread_create(&becoming, NULL, become_another, NULL));
        wait_forever(NULL);
    }
    check_exit(child, 33);
}
