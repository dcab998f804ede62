/* Locks and leases on files, and ioctl. */
#include "surface.h"
#include <signal.h>
#include <sys/file.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

static struct flock lock_of(short type, off_t start, off_t length)
{
    return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = length};
}

/* Locks of open file descriptions: two of one process exclude each other. */
static void of_open_files(int fd, int other)
{
    struct flock lock = lock_of(F_WRLCK, 10, 10);
    CHECK_OK(fcntl(fd, F_OFD_SETLK, &lock));
    lock = lock_of(F_RDLCK, 15, 1);
    CHECK_FAILS(fcntl(other, F_OFD_SETLK, &lock), EAGAIN);
    CHECK_OK(fcntl(other, F_OFD_GETLK, &lock));
    CHECK(lock.l_type == F_WRLCK && lock.l_start == 10 && lock.l_pid == -1);
    lock = lock_of(F_UNLCK, 0, 0);
    CHECK_OK(fcntl(fd, F_OFD_SETLKW, &lock));
    lock = lock_of(F_RDLCK, 15, 1);
    CHECK_OK(fcntl(other, F_OFD_SETLK, &lock));
    lock = lock_of(F_UNLCK, 0, 0);
    CHECK_OK(fcntl(other, F_OFD_SETLK, &lock));
}

static void of_processes(int fd)
{
    struct flock lock = lock_of(F_WRLCK, 0, 100);
    CHECK_OK(fcntl(fd, F_SETLK, &lock));
    lock = lock_of(F_UNLCK, 0, 0);
    CHECK_OK(fcntl(fd, F_SETLKW, &lock));
    lock = lock_of(F_WRLCK, 0, 0);
    CHECK_OK(fcntl64(fd, F_GETLK, &lock));
    CHECK_EQ(lock.l_type, F_UNLCK);
    lock = lock_of(77, 0, 0);
    CHECK_FAILS(fcntl(fd, F_SETLK, &lock), EINVAL);

    CHECK_OK(lseek(fd, 0, SEEK_SET));
    CHECK_OK(lockf(fd, F_LOCK, 10));
    CHECK_OK(lockf(fd, F_TEST, 10)); /* the process's own */
    pid_t child = fork();
    if (child == 0) {
        int its_own = open("file", O_RDWR);
        CHECK_FAILS(lockf(its_own, F_TLOCK, 5), EAGAIN);
        CHECK_FAILS(lockf64(its_own, F_TEST, 5), EACCES);
        lock = lock_of(F_RDLCK, 5, 1);
        CHECK_OK(fcntl(its_own, F_GETLK, &lock));
        CHECK(lock.l_type == F_WRLCK && lock.l_len == 10 && lock.l_pid == getppid());
        _exit(0);
    }
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    CHECK_OK(lockf64(fd, F_ULOCK, 10));
    CHECK_FAILS(lockf(-1, F_LOCK, 10), EBADF);
    CHECK_FAILS(lockf(fd, opaque(77), 10), EINVAL);
}

static void of_whole_files(int fd, int other)
{
    CHECK_OK(flock(fd, LOCK_SH));
    CHECK_OK(flock(other, LOCK_SH | LOCK_NB));
    CHECK_FAILS(flock(other, LOCK_EX | LOCK_NB), EWOULDBLOCK);
    CHECK_OK(flock(other, LOCK_UN));
    CHECK_OK(flock(fd, LOCK_EX));
    CHECK_OK(flock(fd, LOCK_UN));
    CHECK_FAILS(flock(-1, LOCK_SH), EBADF);
    CHECK_FAILS(flock(fd, opaque(77)), EINVAL);
}

/* A lease's signal is told the descriptor (F_SETSIG), whose owner is told apart by a structure (F_SETOWN_EX). */
static void leases(void)
{
    int reader = open("file", O_RDONLY);
    struct f_owner_ex owner = {F_OWNER_PID, getpid()}, found;
    CHECK_OK(fcntl(reader, F_SETSIG, SIGUSR1));
    CHECK_EQ(fcntl(reader, F_GETSIG), SIGUSR1);
    CHECK_OK(fcntl(reader, F_SETOWN_EX, &owner));
    CHECK_OK(fcntl(reader, F_GETOWN_EX, &found));
    CHECK(found.type == owner.type && found.pid == owner.pid);
    CHECK_EQ(fcntl(reader, F_GETOWN), getpid());
    if (fcntl(reader, F_SETLEASE, F_RDLCK) == 0) { /* not every file system has leases */
        CHECK_EQ(fcntl(reader, F_GETLEASE), F_RDLCK);
        CHECK_OK(fcntl(reader, F_SETLEASE, F_UNLCK));
    }
    CHECK_EQ(fcntl(reader, F_GETLEASE), F_UNLCK);
    CHECK_OK(close(reader));
}

void locks(void)
{
    int fd = new_file("file");
    of_processes(fd);
    int other = open("file", O_RDWR);
    of_open_files(fd, other);
    of_whole_files(fd, other);
    CHECK_OK(close(fd));
    close_and_remove(other, "file");
    CHECK_OK(close(new_file("file"))); /* a lease wants nobody else to have it open for writing */
    leases();
    CHECK_OK(unlink("file"));
}

void ioctls(void)
{
    int fd = new_file("file"), ends[2], waiting = -1, on = 1;
    CHECK_EQ(write(fd, "0123456789", 10), 10);
    CHECK_EQ(lseek(fd, 4, SEEK_SET), 4);
    CHECK_OK(ioctl(fd, FIONREAD, &waiting));
    CHECK_EQ(waiting, 6);
    CHECK_OK(ioctl(fd, FIOCLEX));
    CHECK_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
    CHECK_OK(ioctl(fd, FIONCLEX));
    CHECK_EQ(fcntl(fd, F_GETFD), 0);
    struct winsize size;
    CHECK_FAILS(ioctl(fd, TIOCGWINSZ, &size), ENOTTY);
    CHECK_FAILS(ioctl(-1, FIONREAD, &waiting), EBADF);
    CHECK_OK(pipe(ends));
    CHECK_EQ(write(ends[1], "abc", 3), 3);
    CHECK_OK(ioctl(ends[0], FIONREAD, &waiting));
    CHECK_EQ(waiting, 3);
    CHECK_OK(ioctl(ends[0], FIONBIO, &on));
    CHECK_EQ(fcntl(ends[0], F_GETFL) & O_NONBLOCK, O_NONBLOCK);
    CHECK_OK(close(ends[0]));
    CHECK_OK(close(ends[1]));
    close_and_remove(fd, "file");
}

/* Lets one file share the bytes of another: all of them, from byte 4 to the end, and 3 from byte 1 to byte 20. Whether the
 * file system can do that is its own affair. */
void clones(void)
{
    int from = new_file("from"), to = new_file("to");
    struct file_clone_range to_the_end = {.src_fd = from, .src_offset = 4};
    struct file_clone_range some = {.src_fd = from, .src_offset = 1, .src_length = 3, .dest_offset = 20};
    CHECK_EQ(write(from, "0123456789", 10), 10);
    (void)ioctl(to, FICLONE, from);
    (void)ioctl(to, FICLONERANGE, &to_the_end);
    (void)ioctl(to, FICLONERANGE, &some);
    close_and_remove(to, "to");
    close_and_remove(from, "from");
}
