/* More of everything than usual. */
#include "cases.h"
#include <dirent.h>
#include <limits.h>
#include <pthread.h>
#include <sys/resource.h>

enum { THREADS = 2000 };

static int shared_fd;
static pthread_barrier_t together;

static void *write_before_and_after(void *number)
{
    CHECK_EQ(pwrite(shared_fd, "1", 1, 2 * (intptr_t)number), 1);
    pthread_barrier_wait(&together);
    CHECK_EQ(pwrite(shared_fd, "2", 1, 2 * (intptr_t)number + 1), 1);
    return NULL;
}

/* 2000 threads at once on the smallest stacks, each with two writes of one byte. */
void threads_at_once(void)
{
    static pthread_t threads[THREADS];
    pthread_attr_t small;
    CHECK_OK(pthread_attr_init(&small));
    CHECK_OK(pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN));
    CHECK_OK(pthread_barrier_init(&together, NULL, THREADS));
    shared_fd = open("file", O_RDWR | O_CREAT | O_EXCL, 0644);
    for (intptr_t i = 0; i < THREADS; i++)
        CHECK_OK(pthread_create(&threads[i], &small, write_before_and_after, (void *)i));
    for (int i = 0; i < THREADS; i++)
        CHECK_OK(pthread_join(threads[i], NULL));
    CHECK_EQ(lseek(shared_fd, 0, SEEK_END), 2 * THREADS);
    CHECK_OK(close(shared_fd));
    CHECK_OK(pthread_barrier_destroy(&together));
    CHECK_OK(pthread_attr_destroy(&small));
    CHECK_OK(unlink("file"));
}

/* 100 000 times a file is opened and closed, after it was made by one more. */
void many_opens(void)
{
    append_text("file", "");
    for (int i = 0; i < 100000; i++) {
        int fd = open("file", O_RDONLY);
        CHECK_EQ(fd, 3);
        CHECK_OK(close(fd));
    }
    CHECK_OK(unlink("file"));
}

enum { DESCRIPTORS = 10000 };

/* A program that starts with 10 000 descriptors finds these and no other; it opens one more and writes one byte. */
void many_descriptors(void)
{
    pid_t child = fork_child();
    if (child == 0) {
        struct rlimit limit = {DESCRIPTORS + 16, DESCRIPTORS + 16};
        CHECK_OK(setrlimit(RLIMIT_NOFILE, &limit));
        CHECK_OK(close_range(3, ~0u, 0));
        while (dup(0) < DESCRIPTORS - 1)
            ;
        execl(self, self, "--child", "many-descriptors", (char *)NULL);
        _exit(1);
    }
    check_exit(child, 0);
    check_and_remove("file", "m");
}

int with_many_descriptors(void)
{
    DIR *all = opendir("/proc/self/fd");
    CHECK(all != NULL);
    CHECK_EQ(dirfd(all), DESCRIPTORS);
    int found = 0;
    for (struct dirent *entry; (entry = readdir(all)) != NULL;)
        found += entry->d_name[0] != '.';
    CHECK_EQ(found, DESCRIPTORS + 1);
    CHECK_OK(closedir(all));
    append_text("file", "m");
    return 0;
}
