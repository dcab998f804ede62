/* Children that are made in unusual ways, by many threads at once, or that cut all ties. */
#include "cases.h"
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

extern void closefrom(int first);
extern pid_t _Fork(void);

static void *fork_many(void *number)
{
    char text[2] = {(char)('a' + (intptr_t)number), 0};
    for (int i = 0; i < 50; i++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            append_text("file", text);
            _exit(19);
        }
        check_exit(child, 19);
    }
    return NULL;
}

/* Four threads fork 50 times each, all at once; each child writes one byte. */
void forks_in_threads(void)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    fflush(stdout);
    for (intptr_t i = 0; i < THREADS; i++)
        CHECK_OK(pthread_create(&threads[i], NULL, fork_many, (void *)i));
    for (int i = 0; i < THREADS; i++)
        CHECK_OK(pthread_join(threads[i], NULL));
    struct stat status;
    CHECK_OK(stat("file", &status));
    CHECK_EQ(status.st_size, 200);
    CHECK_OK(unlink("file"));
}

static int notes = -1;

static void write_note(const char *note)
{
    if (notes >= 0)
        CHECK_EQ(write(notes, note, 1), 1);
}

static void before_fork(void) { write_note("b"); }
static void in_parent(void) { write_note("p"); }
static void in_child(void) { write_note("c"); }

/* Handlers around a fork write: one byte before it, one in the parent, one in the child, ten times. */
void fork_handlers(void)
{
    CHECK_OK(pthread_atfork(before_fork, in_parent, in_child));
    notes = open("file", O_RDWR | O_CREAT | O_EXCL | O_APPEND, 0644);
    for (int i = 0; i < 10; i++) {
        pid_t child = fork_child();
        if (child == 0)
            _exit(21);
        check_exit(child, 21);
    }
    CHECK_EQ(lseek(notes, 0, SEEK_END), 30);
    CHECK_OK(close(notes));
    notes = -1;
    CHECK_OK(unlink("file"));
}

/* What a new process of a kind that libc does not know of does. */
static int append_and_end(void *text)
{
    append_text("file", text);
    _exit(22);
}

/* Children of _Fork, of clone(2) and of a system call made by number, four bytes each. */
void forks_unseen(void)
{
    fflush(stdout);
    pid_t child = _Fork();
    if (child == 0)
        append_and_end("made ");
    check_exit(child, 22);
    child = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0)
        append_and_end("with ");
    check_exit(child, 22);
    child = syscall(SYS_fork);
    if (child == 0)
        append_and_end("many ");
    check_exit(child, 22);
    enum { STACK = 65536 };
    char *stack = allocate(STACK);
    child = clone(append_and_end, stack + STACK, SIGCHLD, "ways ");
    check_exit(child, 22);
    free(stack);
    check_and_remove("file", "made with many ways ");
}

static int append_from_shared(void *text)
{
    append_text("file", text);
    syscall(SYS_exit_group, 23);
    return 0;
}

static int exec_from_shared(void *text)
{
    execl(self, self, "--child", "append", "file", (char *)text, (char *)NULL);
    syscall(SYS_exit_group, 1);
    return 0;
}

/* Children that share their parent's memory on a stack of their own, which waits for them: one writes, one becomes
 * another program, and the parent writes around them. Nine writes, three of them in borrowed memory. */
void clones_in_shared_memory(void)
{
    enum { STACK = 65536, FLAGS = CLONE_VM | CLONE_VFORK | SIGCHLD };
    char *stack = allocate(STACK);
    fflush(stdout);
    for (int i = 0; i < 3; i++) {
        append_text("file", "p");
        check_exit(clone(append_from_shared, stack + STACK, FLAGS, "w"), 23);
        check_exit(clone(exec_from_shared, stack + STACK, FLAGS, "x"), 0);
    }
    free(stack);
    check_and_remove("file", "pwxpwxpwx");
}

static void close_all(int way)
{
    if (way == 0)
        closefrom(0);
    if (way == 1)
        CHECK_OK(close_range(0, ~0u, 0));
    if (way == 2)
        for (int fd = 0; fd < 65536; fd++)
            close(fd);
}

/* As sshd and its like become daemons: two forks, a session of its own, and no descriptor is left, in three ways. Each
 * daemon writes 100 bytes and then tells of its end by a file. */
void daemons_that_close_all(void)
{
    for (int way = 0; way < 3; way++) {
        CHECK_OK(mkfifo("end", 0644));
        pid_t child = fork_child();
        if (child == 0) {
            CHECK(setsid() > 0);
            if (fork_child() != 0)
                _exit(0);
            close_all(way);
            CHECK_EQ(open("/dev/null", O_RDWR), 0);
            CHECK_EQ(dup(0), 1);
            CHECK_EQ(dup(0), 2);
            int fd = open("file", O_WRONLY | O_CREAT | O_APPEND, 0644);
            CHECK_EQ(fd, 3);
            for (int i = 0; i < 100; i++)
                CHECK_EQ(write(fd, "d", 1), 1);
            CHECK_EQ(open("end", O_WRONLY), 4);
            exit(0);
        }
        check_exit(child, 0);
        char byte;
        int end = open("end", O_RDONLY);
        CHECK_EQ(read(end, &byte, 1), 0);
        CHECK_OK(close(end));
        CHECK_OK(unlink("end"));
    }
    struct stat status;
    CHECK_OK(stat("file", &status));
    CHECK_EQ(status.st_size, 300);
    CHECK_OK(unlink("file"));
}

/* Sockets that another program inherits through exec work on, and nobody closes them: one byte each way. */
void sockets_across_exec(void)
{
    int ends[2];
    char number[16], byte = 0;
    CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    snprintf(number, sizeof number, "%d", ends[1]);
    pid_t child = fork_child();
    if (child == 0) {
        CHECK_OK(close(ends[0]));
        execl(self, self, "--child", "answer", number, (char *)NULL);
        _exit(1);
    }
    CHECK_OK(close(ends[1]));
    CHECK_EQ(write(ends[0], "q", 1), 1);
    CHECK_EQ(read(ends[0], &byte, 1), 1);
    CHECK_EQ(byte, 'r');
    CHECK_OK(close(ends[0]));
    check_exit(child, 0);
}

int answer(const char *number)
{
    char byte = 0;
    int fd = atoi(number);
    CHECK_EQ(read(fd, &byte, 1), 1);
    CHECK_EQ(write(fd, &(char){(char)(byte + 1)}, 1), 1);
    return 0;
}
