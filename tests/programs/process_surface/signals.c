/* Signal handlers that do I/O in the middle of the program's own, and that leave it by siglongjmp. */
#include "surface.h"
#include "../interrupts.h"
#include <pthread.h>
#include <setjmp.h>

enum { TIMES = 200 };

static volatile sig_atomic_t handled;
static int handler_fd;
static sigjmp_buf back;
static volatile sig_atomic_t may_jump;

static void write_from_handler(int signal)
{
    (void)signal;
    int error = errno;
    if (handled < TIMES && write(handler_fd, "h", 1) == 1)
        handled++;
    errno = error;
}

/* A handler writes to one file while the program writes to another: every byte arrives, in both. */
void writing_handler(void)
{
    int fd = open("main", O_RDWR | O_CREAT | O_EXCL, 0644);
    handler_fd = open("handler", O_RDWR | O_CREAT | O_EXCL | O_APPEND, 0644);
    CHECK(fd >= 0 && handler_fd >= 0);
    handled = 0;
    timer_t timer = start_interrupts(write_from_handler);
    while (handled < TIMES) {
        uint64_t block[64];
        for (int b = 0; b < 64; b++) {
            off_t offset = b * (off_t)sizeof block;
            fill_pattern(block, sizeof block, offset, 3);
            CHECK_EQ(pwrite(fd, block, sizeof block, offset), sizeof block);
            CHECK_EQ(pread(fd, block, sizeof block, offset), sizeof block);
            check_pattern(block, sizeof block, offset, 3);
        }
    }
    stop_interrupts(timer);
    CHECK_EQ(lseek(fd, 0, SEEK_END), 64 * 64 * 8);
    CHECK_EQ(lseek(handler_fd, 0, SEEK_END), TIMES);
    CHECK_OK(close(fd));
    CHECK_OK(close(handler_fd));
    CHECK_OK(unlink("main"));
    CHECK_OK(unlink("handler"));
}

static void jump_from_handler(int signal)
{
    (void)signal;
    if (!may_jump)
        return;
    may_jump = 0;
    handled++;
    siglongjmp(back, 1);
}

/* Writes until a signal takes it out of a write. */
static void write_until_jump(int fd)
{
    char block[256] = {0};
    if (sigsetjmp(back, 1) != 0)
        return;
    may_jump = 1;
    for (;;)
        if (pwrite(fd, block, sizeof block, 0) != sizeof block)
            fail(__FILE__, __LINE__, "a write failed");
}

static void *use_files(void *name)
{
    append_text(name, "after the jumps");
    return NULL;
}

/* Whatever was going on inside a write is given up; the next I/O, of this thread and of another, still works. The
 * program's alarm bounds the time of the latter. */
void jumping_handler(void)
{
    int fd = open("main", O_RDWR | O_CREAT | O_EXCL, 0644);
    CHECK(fd >= 0);
    handled = 0;
    timer_t timer = start_interrupts(jump_from_handler);
    while (handled < TIMES)
        write_until_jump(fd);
    stop_interrupts(timer);
    pthread_t thread;
    CHECK_OK(pthread_create(&thread, NULL, use_files, "file"));
    CHECK_OK(pthread_join(thread, NULL));
    check_and_remove("file", "after the jumps");
    CHECK_EQ(lseek(fd, 0, SEEK_END), 256);
    CHECK_OK(close(fd));
    CHECK_OK(unlink("main"));
}
