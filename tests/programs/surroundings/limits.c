/* Limits of resources, which are meant for the program and hit whoever is in it. */
#include "cases.h"
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

static void write_with_small_files(void)
{
    struct rlimit limit = {65536, 65536};
    CHECK_OK(setrlimit(RLIMIT_FSIZE, &limit));
    CHECK(signal(SIGXFSZ, SIG_DFL) != SIG_ERR);
    write_many("file"); /* 65 536 bytes long */
    int fd = open("file", O_WRONLY);
    CHECK_EQ(pwrite(fd, "m", 1, 65536), 1); /* not reached: the signal */
}

/* 300 000 writes of one byte where files may have 64 KiB; one byte more ends the process by SIGXFSZ. */
void files_limited(void)
{
    pid_t child = fork_child();
    if (child == 0) {
        CHECK_OK(setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}));
        write_with_small_files();
        _exit(1);
    }
    check_killed(child, SIGXFSZ);
    struct stat status;
    CHECK_OK(stat("file", &status));
    CHECK_EQ(status.st_size, 65536);
    CHECK_OK(unlink("file"));
}

static void *append_from_thread(void *unused)
{
    append_text("file", "thread");
    return unused;
}

static void write_with_little_memory(void)
{
    struct rlimit limit;
    void *most = MAP_FAILED;
    CHECK_OK(getrlimit(RLIMIT_AS, &limit));
    limit.rlim_cur = 0; /* nothing more */
    CHECK_OK(setrlimit(RLIMIT_AS, &limit));
    most = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(most == MAP_FAILED);
    write_many("file");
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, append_from_thread, NULL), EAGAIN);
    _exit(35);
}

/* 300 000 writes of one byte while no memory is to be had. */
void memory_limited(void)
{
    run_in_child(write_with_little_memory, 35, 1);
    CHECK_OK(unlink("file"));
}

static void *free_most(void *unused)
{
    void *large[3], *small;
    for (int i = 0; i < 3; i++)
        CHECK((large[i] = malloc(100000)) != NULL);
    CHECK((small = malloc(1000)) != NULL);
    for (int i = 0; i < 3; i++)
        free(large[i]);
    free(small); /* stays in the thread's cache until the thread has ended */
    return unused;
}

/* libc gives memory back behind a thread that has ended, and reads a file of the kernel's before. */
void memory_given_back(void)
{
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, free_most, NULL), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
}

static void *write_a_byte(void *unused)
{
    int to = open("/dev/null", O_WRONLY);
    CHECK(to >= 0);
    CHECK_EQ(write(to, "b", 1), 1);
    CHECK_OK(close(to));
    return unused;
}

/* 100 threads write a byte each to nowhere, while `file` in $FOLDER is open 40 times. */
void threads_with_open_files(void)
{
    int files[40];
    pthread_t threads[100];
    char path[4096];
    CHECK((size_t)snprintf(path, sizeof path, "%s/file", getenv("FOLDER")) < sizeof path);
    for (int i = 0; i < 40; i++)
        CHECK((files[i] = open(path, O_RDONLY)) >= 0);
    for (int i = 0; i < 100; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, write_a_byte, NULL), 0);
    for (int i = 0; i < 100; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < 40; i++)
        CHECK_OK(close(files[i]));
}

static void write_with_locked_memory(void)
{
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
        CHECK(errno == EPERM || errno == ENOMEM);
    write_many("file");
}

/* 300 000 writes of one byte while all memory, also that to come, is locked. */
void memory_locked(void)
{
    run_in_child(write_with_locked_memory, 0, 0);
    CHECK_OK(unlink("file"));
}

static void write_without_descriptors(void)
{
    int fd = open("file", O_RDWR | O_CREAT | O_EXCL, 0644), highest = fd;
    struct rlimit limit = {fd + 4, fd + 4};
    CHECK_OK(setrlimit(RLIMIT_NOFILE, &limit));
    for (int next; (next = dup(fd)) >= 0;)
        highest = next;
    CHECK_EQ(highest, fd + 3);
    for (long long i = 0; i < MANY; i++)
        CHECK_EQ(pwrite(fd, "m", 1, i * 40503 % 65536), 1);
}

/* 300 000 writes of one byte while no descriptor is to be had. */
void descriptors_limited(void)
{
    run_in_child(write_without_descriptors, 0, 0);
    CHECK_OK(unlink("file"));
}
