/* Descriptors: all of them closed at once, and none to spare. */
#include "surface.h"
#include <pthread.h>
#include <sys/resource.h>

extern void closefrom(int first);

static void close_in_child(int way)
{
    int first = open("file", O_RDONLY), ends[2];
    CHECK(first >= 3);
    CHECK_OK(pipe(ends));
    CHECK_EQ(dup2(first, 100), 100);
    if (way == 0)
        closefrom(3);
    if (way == 1)
        CHECK_OK(close_range(3, ~0u, 0));
    if (way == 2) /* as many programs do it */
        for (int fd = 3; fd < 1024; fd++)
            close(fd);
    CHECK_FAILS(fcntl(first, F_GETFD), EBADF);
    CHECK_FAILS(fcntl(100, F_GETFD), EBADF);
    CHECK_EQ(open("file", O_WRONLY | O_APPEND), 3);
    CHECK_EQ(write(3, "still here", 10), 10);
    CHECK_OK(close(3));
    exit(0);
}

void closing_all(void)
{
    for (int way = 0; way < 3; way++) {
        append_text("file", "");
        pid_t child = fork_child();
        if (child == 0)
            close_in_child(way);
        check_exit(child, 0);
        check_and_remove("file", "still here");
    }
}

/* Starts this program anew with descriptors 0 to 2 and room for one more. */
static void start_limited(const char *what)
{
    pid_t child = fork_child();
    if (child == 0) {
        struct rlimit limit = {4, 4};
        closefrom(3);
        CHECK_OK(setrlimit(RLIMIT_NOFILE, &limit));
        execl(self, self, "--child", what, (char *)NULL);
        _exit(1);
    }
    check_exit(child, 0);
}

int under_three_descriptors(void)
{
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(open("file", O_RDWR | O_CREAT, 0644), 3);
        CHECK_FAILS(open("file", O_RDONLY), EMFILE);
        CHECK_FAILS(dup(0), EMFILE);
        CHECK_EQ(pwrite(3, "three", 5, 0), 5);
        CHECK_OK(close(3));
    }
    return 0;
}

void three_descriptors(void)
{
    start_limited("fd3");
    check_and_remove("file", "three");
}

static void *write_three(void *unused)
{
    CHECK_EQ(pwrite(3, "thread", 6, 0), 6);
    return unused;
}

/* A thread starts, and a child, while no descriptor is to be had. */
int with_no_descriptor_left(void)
{
    pthread_t thread;
    CHECK_EQ(open("file", O_RDWR | O_CREAT, 0644), 3);
    CHECK_OK(pthread_create(&thread, NULL, write_three, NULL));
    CHECK_OK(pthread_join(thread, NULL));
    pid_t child = fork_child();
    if (child == 0) {
        CHECK_EQ(pwrite(3, " child", 6, 6), 6);
        exit(14);
    }
    check_exit(child, 14);
    CHECK_FAILS(open("file", O_RDONLY), EMFILE);
    CHECK_OK(close(3));
    return 0;
}

void no_descriptor_left(void)
{
    start_limited("fd-exhausted");
    check_and_remove("file", "thread child");
}
