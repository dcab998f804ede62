/* raw_surface: system calls made by number, most of them twice: once so that they succeed, once so that they fail.
 *
 * What lies between the opening of the files `begin` and `end` is made by syscall(2) alone, so that whatever records
 * the program sees the same calls there. Files are in the current folder.
 */
#include "common.h"
#include <dirent.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>

static char buffer[8192];

static int open_file(const char *name, int flags)
{
    int fd = syscall(SYS_openat, AT_FDCWD, name, flags, 0644);
    CHECK(fd >= 0);
    return fd;
}

static void close_file(int fd)
{
    CHECK_OK(syscall(SYS_close, fd));
}

static void transfers(void)
{
    int fd = open_file("data", O_RDWR | O_CREAT | O_TRUNC);
    struct iovec parts[2] = {{buffer, 100}, {buffer + 200, 300}};
    CHECK_EQ(syscall(SYS_write, fd, buffer, 1000), 1000);
    CHECK_EQ(syscall(SYS_pwrite64, fd, buffer, 500, (off_t)1 << 20), 500);
    CHECK_EQ(syscall(SYS_writev, fd, parts, 2), 400);
    CHECK_EQ(syscall(SYS_pwritev, fd, parts, 2, (off_t)4096, 0L), 400);
    CHECK_EQ(syscall(SYS_pwritev2, fd, parts, 1, (off_t)-1, 0L, 0), 100);
    CHECK_EQ(syscall(SYS_lseek, fd, (off_t)10, SEEK_SET), 10);
    CHECK_EQ(syscall(SYS_read, fd, buffer, 90), 90);
    CHECK_EQ(syscall(SYS_pread64, fd, buffer, 8192, (off_t)(1 << 20) + 400), 100);
    CHECK_EQ(syscall(SYS_readv, fd, parts, 2), 400);
    CHECK_EQ(syscall(SYS_preadv, fd, parts, 2, (off_t)4096, 0L), 400);
    CHECK_FAILS(syscall(SYS_read, -1, buffer, 1), EBADF);
    CHECK_FAILS(syscall(SYS_write, fd, bad_address(), 10), EFAULT);
    CHECK_FAILS(syscall(SYS_writev, fd, bad_address(), 2), EFAULT);
    CHECK_OK(syscall(SYS_fsync, fd));
    CHECK_OK(syscall(SYS_fdatasync, fd));
    CHECK_OK(syscall(SYS_ftruncate, fd, (off_t)12345));
    CHECK_OK(syscall(SYS_fallocate, fd, 0, (off_t)0, (off_t)20000));
    CHECK_OK(syscall(SYS_fadvise64, fd, (off_t)0, (off_t)0, POSIX_FADV_SEQUENTIAL));
    CHECK_OK(syscall(SYS_flock, fd, LOCK_EX));
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 7, .l_len = 11};
    CHECK_OK(syscall(SYS_fcntl, fd, F_SETLK, &lock));
    int copy = syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 100);
    CHECK_EQ(copy, 100);
    close_file(copy);
    CHECK_EQ(syscall(SYS_dup2, fd, 101), 101);
    CHECK_EQ(syscall(SYS_dup3, fd, 102, O_CLOEXEC), 102);
    CHECK_OK(syscall(SYS_close_range, 101, 102, 0));
    int other = open_file("copy", O_RDWR | O_CREAT | O_TRUNC);
    off_t from = 50;
    CHECK_EQ(syscall(SYS_sendfile, other, fd, &from, 700), 700);
    loff_t in = 100, out = 2000;
    CHECK_EQ(syscall(SYS_copy_file_range, fd, &in, other, &out, 300, 0), 300);
    close_file(other);
    close_file(fd);
    CHECK_FAILS(syscall(SYS_close, fd), EBADF);
}

static void names(void)
{
    struct stat status;
    struct statx more;
    CHECK_OK(syscall(SYS_mkdir, "folder", 0755));
    CHECK_FAILS(syscall(SYS_mkdir, "folder", 0755), EEXIST);
    CHECK_OK(syscall(SYS_stat, "data", &status));
    CHECK_EQ(status.st_size, 20000);
    CHECK_OK(syscall(SYS_newfstatat, AT_FDCWD, "data", &status, 0));
    CHECK_OK(syscall(SYS_statx, AT_FDCWD, "data", 0, STATX_SIZE, &more));
    CHECK_FAILS(syscall(SYS_stat, "missing", &status), ENOENT);
    CHECK_FAILS(syscall(SYS_stat, bad_address(), &status), EFAULT);
    CHECK_OK(syscall(SYS_rename, "copy", "folder/copy"));
    CHECK_OK(syscall(SYS_link, "data", "folder/link"));
    CHECK_OK(syscall(SYS_symlinkat, "link", AT_FDCWD, "folder/symbolic"));
    CHECK_EQ(syscall(SYS_readlink, "folder/symbolic", buffer, sizeof buffer), 4);
    CHECK_OK(syscall(SYS_access, "folder/link", R_OK));
    CHECK_OK(syscall(SYS_truncate, "folder/copy", (off_t)10));
    CHECK_OK(syscall(SYS_chmod, "folder/copy", 0600));
    int fd = open_file("folder", O_RDONLY | O_DIRECTORY);
    CHECK(syscall(SYS_getdents64, fd, buffer, sizeof buffer) > 0);
    CHECK_EQ(syscall(SYS_getdents64, fd, buffer, sizeof buffer), 0);
    CHECK_OK(syscall(SYS_unlinkat, fd, "symbolic", 0));
    close_file(fd);
    CHECK_OK(syscall(SYS_unlink, "folder/link"));
    CHECK_OK(syscall(SYS_unlink, "folder/copy"));
    CHECK_OK(syscall(SYS_rmdir, "folder"));
}

static void mappings(void)
{
    int fd = open_file("data", O_RDWR);
    char *mapped = (char *)syscall(SYS_mmap, NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)4096);
    CHECK(mapped != MAP_FAILED);
    mapped[1] = 'm';
    CHECK_OK(syscall(SYS_msync, mapped, 8192, MS_SYNC));
    CHECK_OK(syscall(SYS_munmap, mapped, 8192));
    close_file(fd);
}

static void sockets(void)
{
    int ends[2], pipe_ends[2];
    CHECK_OK(syscall(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, ends));
    CHECK_EQ(syscall(SYS_sendto, ends[0], buffer, 60, 0, NULL, 0), 60);
    CHECK_EQ(syscall(SYS_recvfrom, ends[1], buffer, sizeof buffer, 0, NULL, NULL), 60);
    CHECK_OK(syscall(SYS_pipe2, pipe_ends, O_CLOEXEC));
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
    memcpy(CMSG_DATA(&control.header), &pipe_ends[0], sizeof(int));
    struct iovec part = {buffer, 10};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    CHECK_EQ(syscall(SYS_sendmsg, ends[0], &message, 0), 10);
    memset(&control, 0, sizeof control);
    CHECK_EQ(syscall(SYS_recvmsg, ends[1], &message, 0), 10);
    int received;
    memcpy(&received, CMSG_DATA(&control.header), sizeof received);
    close_file(received);
    CHECK_OK(syscall(SYS_shutdown, ends[0], SHUT_WR));
    close_file(ends[0]);
    close_file(ends[1]);

    struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "socket"}, from;
    socklen_t length = sizeof from;
    int one = syscall(SYS_socket, AF_UNIX, SOCK_DGRAM, 0), other = syscall(SYS_socket, AF_UNIX, SOCK_DGRAM, 0);
    CHECK(one >= 0 && other >= 0);
    CHECK_OK(syscall(SYS_bind, one, &name, sizeof name));
    CHECK_OK(syscall(SYS_connect, other, &name, sizeof name));
    CHECK_EQ(syscall(SYS_sendto, other, buffer, 5, 0, &name, sizeof name), 5);
    CHECK_EQ(syscall(SYS_recvfrom, one, buffer, sizeof buffer, 0, &from, &length), 5);
    CHECK_FAILS(syscall(SYS_connect, other, bad_address(), sizeof name), EFAULT);
    CHECK_OK(syscall(SYS_unlink, "socket"));

    struct pollfd polled[2] = {{.fd = one, .events = POLLIN}, {.fd = pipe_ends[1], .events = POLLOUT}};
    CHECK_EQ(syscall(SYS_poll, polled, 2, 1000), 1);
    struct timespec soon = {.tv_nsec = 1000}, none = {0};
    CHECK_EQ(syscall(SYS_ppoll, polled, 1, &soon, NULL, 8), 0);
    fd_set set;
    FD_ZERO(&set);
    FD_SET(pipe_ends[1], &set);
    struct timeval limit = {.tv_sec = 5};
    CHECK_EQ(syscall(SYS_select, pipe_ends[1] + 1, NULL, &set, NULL, &limit), 1);
    int epoll = syscall(SYS_epoll_create1, EPOLL_CLOEXEC);
    CHECK(epoll >= 0);
    struct epoll_event event = {.events = EPOLLOUT, .data.u64 = 77};
    CHECK_OK(syscall(SYS_epoll_ctl, epoll, EPOLL_CTL_ADD, pipe_ends[1], &event));
    CHECK_EQ(syscall(SYS_epoll_wait, epoll, &event, 1, 1000), 1);
    CHECK_OK(syscall(SYS_epoll_ctl, epoll, EPOLL_CTL_DEL, pipe_ends[1], NULL));
    int counter = syscall(SYS_eventfd2, 3, EFD_NONBLOCK);
    CHECK_EQ(syscall(SYS_read, counter, buffer, 8), 8);
    CHECK_FAILS(syscall(SYS_read, counter, buffer, 8), EAGAIN);
    int timer = syscall(SYS_timerfd_create, CLOCK_MONOTONIC, 0);
    struct itimerspec times = {.it_value = {.tv_nsec = 1}};
    CHECK_OK(syscall(SYS_timerfd_settime, timer, 0, &times, NULL));
    CHECK_EQ(syscall(SYS_read, timer, buffer, 8), 8);
    CHECK_OK(syscall(SYS_nanosleep, &none, NULL));
    CHECK_OK(syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &soon, NULL));
    int fds[] = {one, other, pipe_ends[0], pipe_ends[1], epoll, counter, timer};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        close_file(fds[i]);
}


static void others(void)
{
    static int word = 1;
    struct timespec soon = {.tv_nsec = 1000};
    CHECK_FAILS(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL), EAGAIN);
    CHECK_FAILS(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, &soon), ETIMEDOUT);
    CHECK_EQ(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1), 0);
    CHECK_EQ(syscall(SYS_getpid), getpid());
    CHECK_EQ(syscall(SYS_getrandom, buffer, 8, 0), 8);
    CHECK_OK(syscall(SYS_kill, getpid(), 0));
    CHECK_FAILS(syscall(SYS_wait4, -1, NULL, 0, NULL), ECHILD);
    CHECK_FAILS(syscall(SYS_mount, NULL, bad_address(), NULL, 0, NULL), EFAULT);
    CHECK_FAILS(syscall(10000), ENOSYS);
}

/* What a call makes that comes back twice. */
static void makers(void)
{
    long child = syscall(SYS_fork);
    CHECK(child >= 0);
    if (child == 0) {
        int fd = open_file("child", O_WRONLY | O_CREAT | O_TRUNC);
        CHECK_EQ(syscall(SYS_write, fd, "child", 5), 5);
        syscall(SYS_exit_group, 7);
    }
    int status = 0;
    CHECK_EQ(syscall(SYS_wait4, child, &status, 0, NULL), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    child = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0L);
    CHECK(child >= 0);
    if (child == 0) {
        char *const words[] = {"true", NULL}, *const variables[] = {NULL};
        syscall(SYS_execve, "/bin/true", words, variables);
        syscall(SYS_exit, 1);
    }
    CHECK_EQ(syscall(SYS_wait4, child, &status, 0, NULL), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
    memset(buffer, 'r', sizeof buffer);
    close_file(open_file("begin", O_RDONLY | O_CREAT));
    transfers();
    names();
    mappings();
    sockets();
    others();
    close_file(open_file("end", O_RDONLY | O_CREAT));
    makers();
    puts("raw_surface: all passed");
    return 0;
}
