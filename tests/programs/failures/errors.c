/* errno: what calls leave there, printed for a comparison. */
#include "cases.h"
#include <dirent.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <time.h>

/* No error has this number. */
enum { UNTOUCHED = 7777 };

/* Prints whether the call failed, and errno after it: UNTOUCHED when it left it alone. */
#define TRACE(call) \
    do { \
        errno = UNTOUCHED; \
        long long result_ = (long long)(intptr_t)(call); \
        int error_ = errno; \
        printf("errno %4d %s %s\n", error_, result_ == -1 ? "failed" : "worked", #call); \
    } while (0)

static void trace_files(void)
{
    char buffer[64];
    struct stat status;
    struct statvfs system;
    struct iovec vector = {buffer, sizeof buffer};
    int fd = open("file", O_RDWR | O_CREAT | O_EXCL, 0644);
    TRACE(open("missing", O_RDONLY) < 0);
    TRACE(open("missing", O_RDONLY));
    TRACE(open("file", O_RDWR | O_CREAT | O_EXCL, 0644));
    TRACE(open("file", O_RDONLY | O_DIRECTORY));
    TRACE(open("", O_RDONLY));
    TRACE(openat(99, "file", O_RDONLY));
    TRACE(openat(fd, "file", O_RDONLY));
    TRACE(creat("missing/file", 0644));
    TRACE(close(99));
    TRACE(read(99, buffer, 1));
    TRACE(read(fd, bad_address(), 1));
    TRACE(read(fd, buffer, sizeof buffer));
    TRACE(write(fd, "x", 1));
    TRACE(write(99, "x", 1));
    TRACE(write(fd, bad_address(), 1));
    TRACE(pwrite(fd, "x", 1, -1));
    TRACE(pread(fd, buffer, 1, -1));
    TRACE(readv(fd, &vector, opaque(-1)));
    TRACE(writev(fd, bad_address(), 1));
    TRACE(preadv(fd, &vector, 1, -1));
    TRACE(lseek(fd, -1, SEEK_SET));
    TRACE(lseek(fd, 0, 99));
    TRACE(ftruncate(fd, -1));
    TRACE(truncate("missing", 0));
    TRACE(fsync(99));
    TRACE(fsync(fd));
    TRACE(fallocate(fd, 0, 0, 0));
    TRACE(posix_fallocate(99, 0, 1)); /* the error is the result */
    TRACE(posix_fadvise(99, 0, 0, POSIX_FADV_NORMAL));
    TRACE(stat("missing", &status));
    TRACE(stat("file", bad_address()));
    TRACE(lstat("file/below", &status));
    TRACE(fstat(99, &status));
    TRACE(fstat(fd, &status));
    TRACE(access("missing", F_OK));
    TRACE(statvfs("missing", &system));
    TRACE(dup(99));
    TRACE(dup2(99, 100));
    TRACE(dup2(fd, -1));
    TRACE(dup3(fd, fd, 0));
    TRACE(fcntl(99, F_GETFD));
    TRACE(fcntl(fd, 9999));
    TRACE(close(fd));
}

static void trace_names(void)
{
    char buffer[64];
    TRACE(mkdir("file", 0755));
    TRACE(rmdir("file"));
    TRACE(rmdir("missing"));
    TRACE(rename("missing", "other"));
    TRACE(rename("file", "missing/other"));
    TRACE(link("missing", "other"));
    TRACE(symlink("anything", "file"));
    TRACE(readlink("file", buffer, sizeof buffer));
    TRACE(unlink("missing"));
    TRACE(chdir("file"));
    TRACE(chmod("missing", 0644));
    TRACE(chown("missing", 0, 0));
    TRACE(opendir("missing") == NULL);
    TRACE(opendir("file") == NULL);
    TRACE(fopen("missing", "r") == NULL);
    TRACE(fopen("file", "?") == NULL);
    TRACE(mkfifo("file", 0644));
    DIR *here = opendir(".");
    while (readdir(here) != NULL)
        ;
    TRACE(readdir(here) == NULL);
    TRACE(closedir(here));
}

static void trace_others(void)
{
    int ends[2];
    pthread_t none = pthread_self();
    TRACE(pipe2(ends, -1));
    TRACE(pipe(bad_address()));
    TRACE(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    TRACE(mmap(NULL, 4096, PROT_READ, MAP_SHARED, 99, 0));
    TRACE(munmap((void *)1, 4096));
    TRACE(msync((void *)4096, 4096, MS_SYNC));
    TRACE(socket(99, 99, 99));
    TRACE(connect(0, NULL, 0));
    TRACE(accept(99, NULL, NULL));
    TRACE(send(99, "x", 1, 0));
    TRACE(recv(0, ends, 1, 0));
    TRACE(poll(NULL, 0, 0));
    TRACE(poll(bad_address(), 1, 0));
    TRACE(select(-1, NULL, NULL, NULL, NULL));
    TRACE(nanosleep(&(struct timespec){0, -1}, NULL));
    TRACE(nanosleep(&(struct timespec){0, 1}, NULL));
    TRACE(waitpid(-1, NULL, WNOHANG));
    TRACE(execv("missing", (char *[]){"missing", NULL}));
    TRACE(execvp("missing-everywhere", (char *[]){"missing", NULL}));
    TRACE(kill(-INT_MAX, 0));
    TRACE(pthread_join(none, NULL)); /* the error is the result */
    TRACE(system("exit 0"));
    TRACE(sigaction(SIGKILL, &(struct sigaction){.sa_handler = SIG_IGN}, NULL));
}

/* About 85 calls, most of which fail; each prints errno. */
void errno_of_everything(void)
{
    trace_files();
    trace_names();
    trace_others();
    CHECK_OK(unlink("file"));
}
