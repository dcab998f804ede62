/* Filters of seccomp(2) that leave the program all it needs, and the recorder more or less. */
#include "../confined.h"
#include "cases.h"
#include <sys/socket.h>
#include <sys/un.h>

/* Opens a file of four bytes for reading, and gives a socket a name, under a filter. */
static void under_filter(struct sock_filter *code, unsigned short length)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "socket"};
    append_text("file", "text");
    pid_t child = fork_child();
    if (child == 0) {
        filter_calls(code, length);
        int fd = open("file", O_RDONLY), listener = socket(AF_UNIX, SOCK_STREAM, 0);
        CHECK(fd >= 0 && listener >= 0);
        CHECK_OK(bind(listener, (struct sockaddr *)&name, sizeof name));
        CHECK_OK(unlink("socket"));
        _exit(0);
    }
    check_exit(child, 0);
    check_and_remove("file", "text");
}

void filter_that_lets_all(void)
{
    struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    under_filter(code, sizeof code / sizeof *code);
}

/* What a descriptor stands for nobody may ask. */
void filter_against_questions(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_statx, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fstat, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getsockname, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    under_filter(code, sizeof code / sizeof *code);
}
