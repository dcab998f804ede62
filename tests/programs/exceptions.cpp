// exceptions: C++ exceptions that pass through libc's functions, out of callbacks, and out of a cancelled thread.
//
// Each part writes one byte to the file `exceptions.left` per object that was destroyed on the way: 200 in all.
//
//   exceptions [--uncaught]
//
// --uncaught: one more leaves a thread's first function, which ends the program by SIGABRT.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

static int left;
static int destroyed;

[[noreturn]] static void fail(const char *what)
{
    std::fprintf(stderr, "exceptions: %s (errno %d)\n", what, errno);
    std::exit(1);
}

// Writes when it is destroyed.
struct Witness {
    ~Witness()
    {
        if (write(left, "x", 1) != 1)
            fail("a write failed");
        destroyed++;
    }
};

struct Thrown {
    int number;
};

static int compare_and_throw(const void *, const void *)
{
    Witness witness;
    if (write(left, "", 0) != 0)
        fail("a write of nothing failed");
    throw Thrown{1};
}

static void through_qsort()
{
    int numbers[] = {3, 1, 2};
    Witness witness;
    std::qsort(numbers, 3, sizeof *numbers, compare_and_throw);
}

static int select_and_throw(const dirent *)
{
    Witness witness;
    throw Thrown{2};
}

static void through_scandir()
{
    dirent **entries;
    Witness witness;
    scandir(".", &entries, select_and_throw, nullptr);
}

static int visit_and_throw(const char *, const struct stat *, int, FTW *)
{
    Witness witness;
    throw Thrown{3};
}

static void through_nftw()
{
    Witness witness;
    nftw(".", visit_and_throw, 4, FTW_PHYS);
}

static ssize_t read_and_throw(void *, char *, size_t)
{
    Witness witness;
    throw Thrown{4};
}

// A stream whose reads are the program's own.
static void through_stream()
{
    Witness witness;
    FILE *stream = fopencookie(nullptr, "r", {read_and_throw, nullptr, nullptr, nullptr});
    if (!stream)
        fail("fopencookie");
    std::setvbuf(stream, nullptr, _IONBF, 0);
    char byte;
    (void)!std::fread(&byte, 1, 1, stream);
}

static sem_t waiting;
static int silent[2];

static void *wait_in_read(void *)
{
    Witness witness;
    char byte;
    sem_post(&waiting);
    (void)!read(silent[0], &byte, 1);
    return nullptr;
}

// Cancellation is an exception, too.
static void by_cancelling()
{
    pthread_t thread;
    Witness witness;
    if (sem_init(&waiting, 0, 0) != 0 || pipe(silent) != 0
        || pthread_create(&thread, nullptr, wait_in_read, nullptr) != 0)
        fail("cannot start a thread");
    sem_wait(&waiting);
    pthread_cancel(thread);
    pthread_join(thread, nullptr);
    close(silent[0]);
    close(silent[1]);
    throw Thrown{5};
}

static void *throw_from_thread(void *)
{
    throw Thrown{6};
}

// Twenty times each.
static void repeat(void (*part)(), int number)
{
    for (int time = 0; time < 20; time++)
        try {
            part();
            fail("nothing was thrown");
        } catch (const Thrown &thrown) {
            if (thrown.number != number)
                fail("another exception");
        }
}

int main(int argc, char **argv)
{
    left = open("exceptions.left", O_WRONLY | O_CREAT | O_EXCL, 0644);
    if (left < 0)
        fail("cannot make a file");
    alarm(60);
    repeat(through_qsort, 1);
    repeat(through_scandir, 2);
    repeat(through_nftw, 3);
    repeat(through_stream, 4);
    repeat(by_cancelling, 5);
    if (destroyed != 200)
        fail("not all objects were destroyed");
    std::printf("exceptions: %d objects destroyed\n", destroyed);
    std::fflush(stdout);
    if (argc > 1 && std::strcmp(argv[1], "--uncaught") == 0) {
        pthread_t thread;
        pthread_create(&thread, nullptr, throw_from_thread, nullptr);
        pthread_join(thread, nullptr);
    }
    return 0;
}
