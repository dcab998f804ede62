/* What must fail, and in the way the kernel says: whoever stands between must not look first. */
#include "surface.h"
#include <sys/uio.h>

enum { NO_FD = 12345 };

void bad_descriptors(void)
{
    char buffer[8] = "";
    struct iovec vector = {buffer, sizeof buffer};
    struct stat status;
    for (int fd = -1; fd <= NO_FD; fd += NO_FD + 1) {
        CHECK_FAILS(read(fd, buffer, opaque(8)), EBADF);
        CHECK_FAILS(write(fd, buffer, 8), EBADF);
        CHECK_FAILS(pread(fd, buffer, opaque(8), 0), EBADF);
        CHECK_FAILS(pwrite(fd, buffer, 8, 0), EBADF);
        CHECK_FAILS(readv(fd, &vector, 1), EBADF);
        CHECK_FAILS(writev(fd, &vector, 1), EBADF);
        CHECK_FAILS(preadv(fd, &vector, 1, 0), EBADF);
        CHECK_FAILS(pwritev(fd, &vector, 1, 0), EBADF);
        CHECK_FAILS(lseek(fd, 0, SEEK_SET), EBADF);
        CHECK_FAILS(close(fd), EBADF);
        CHECK_FAILS(fsync(fd), EBADF);
        CHECK_FAILS(fdatasync(fd), EBADF);
        CHECK_FAILS(syncfs(fd), EBADF);
        CHECK_FAILS(sync_file_range(fd, 0, 1, 0), EBADF);
        CHECK_FAILS(ftruncate(fd, 0), EBADF);
        CHECK_FAILS(fallocate(fd, 0, 0, 1), EBADF);
        CHECK_FAILS(fstat(fd, &status), EBADF);
        CHECK_FAILS(fcntl(fd, F_GETFL), EBADF);
        CHECK_FAILS(fcntl(fd, F_DUPFD, 3), EBADF);
        CHECK_FAILS(dup(fd), EBADF);
        CHECK_FAILS(dup3(fd, 50, 0), EBADF);
        CHECK_FAILS(fchdir(fd), EBADF);
        CHECK_FAILS(openat(fd, "file", O_RDONLY), EBADF);
        CHECK_FAILS(unlinkat(fd, "file", 0), EBADF);
    }
}

#if defined(__SANITIZE_ADDRESS__)
/* The sanitizer reads the arguments itself and takes bad ones for errors of the program. */
void bad_addresses(void)
{
}
#else
static void bad_paths(void)
{
    const char *bad = bad_address();
    struct stat status;
    struct statx statusx;
    CHECK_FAILS(open(bad, O_RDONLY), EFAULT);
    CHECK_FAILS(open(bad, O_WRONLY | O_CREAT, 0644), EFAULT);
    CHECK_FAILS(open64(bad, O_RDONLY), EFAULT);
    CHECK_FAILS(openat(AT_FDCWD, bad, O_RDONLY), EFAULT);
    CHECK_FAILS(creat(bad, 0644), EFAULT);
    CHECK_FAILS(truncate(bad, 0), EFAULT);
    CHECK_FAILS(stat(bad, &status), EFAULT);
    CHECK_FAILS(lstat(bad, &status), EFAULT);
    CHECK_FAILS(fstatat(AT_FDCWD, bad, &status, 0), EFAULT);
    CHECK_FAILS(statx(AT_FDCWD, bad, 0, STATX_SIZE, &statusx), EFAULT);
    CHECK_FAILS(access(bad, F_OK), EFAULT);
    CHECK_FAILS(faccessat(AT_FDCWD, bad, F_OK, 0), EFAULT);
    CHECK_FAILS(unlink(bad), EFAULT);
    CHECK_FAILS(unlinkat(AT_FDCWD, bad, 0), EFAULT);
    CHECK_FAILS(rename(bad, bad), EFAULT);
    CHECK_FAILS(rename("missing", bad), EFAULT);
    CHECK_FAILS(link(bad, bad), EFAULT);
    CHECK_FAILS(symlink(bad, bad), EFAULT);
    CHECK_FAILS(mkdir(bad, 0755), EFAULT);
    CHECK_FAILS(mkdirat(AT_FDCWD, bad, 0755), EFAULT);
    CHECK_FAILS(rmdir(bad), EFAULT);
    CHECK_FAILS(chdir(bad), EFAULT);
    CHECK_FAILS(readlink(bad, (char[8]){0}, opaque(8)), EFAULT);
}

static void bad_buffers(int fd)
{
    void *bad = bad_address();
    char good[4] = "good";
    struct iovec vectors[2] = {{good, 4}, {bad, 4}}, only_bad = {bad, 4};
    CHECK_FAILS(write(fd, bad, 8), EFAULT);
    CHECK_FAILS(writev(fd, bad, 2), EFAULT);
    CHECK_FAILS(pwritev(fd, bad, 2, 0), EFAULT);
    CHECK_FAILS(writev(fd, &only_bad, 1), EFAULT);
    CHECK_EQ(size_of(fd), 0);
    CHECK_EQ(writev(fd, vectors, 2), 4); /* what was good */
    CHECK_OK(lseek(fd, 0, SEEK_SET));
    CHECK_FAILS(read(fd, bad, 4), EFAULT);
    CHECK_FAILS(pread(fd, bad, 4, 0), EFAULT);
    CHECK_FAILS(readv(fd, bad, 2), EFAULT);
    CHECK_FAILS(preadv(fd, &only_bad, 1, 0), EFAULT);
    CHECK_FAILS(stat("file", bad), EFAULT);
    CHECK_FAILS(fstat(fd, bad), EFAULT);
    CHECK_FAILS(pipe(bad), EFAULT);
    CHECK_FAILS(fcntl(fd, F_SETLK, bad), EFAULT);
    CHECK_FAILS(readlink("link", bad, 8), EFAULT);
}

void bad_addresses(void)
{
    int fd = new_file("file");
    CHECK_OK(symlink("file", "link"));
    bad_paths();
    bad_buffers(fd);
    CHECK_OK(unlink("link"));
    close_and_remove(fd, "file");
}
#endif

void long_paths(void)
{
    enum { LENGTH = 5000 };
    struct stat status;
    char *path = allocate(LENGTH + 1);
    memset(path, 'p', LENGTH);
    CHECK_FAILS(open(path, O_RDWR | O_CREAT, 0644), ENAMETOOLONG);
    CHECK_FAILS(stat(path, &status), ENAMETOOLONG);
    CHECK_FAILS(unlink(path), ENAMETOOLONG);
    CHECK_FAILS(rename(path, path), ENAMETOOLONG);
    CHECK_FAILS(mkdir(path, 0755), ENAMETOOLONG);
    for (int i = 1; i < LENGTH; i += 2) /* p/p/p/... */
        path[i] = '/';
    CHECK_FAILS(open(path, O_RDONLY), ENAMETOOLONG);

    /* The longest path that can be: "./././.../file". */
    int fd = new_file("file");
    for (int i = 0; i < 4090; i += 2)
        memcpy(path + i, "./", 2);
    memcpy(path + 4090, "file", 5);
    CHECK_OK(stat(path, &status));
    int same = open(path, O_RDONLY);
    CHECK(same >= 0);
    CHECK_OK(close(same));
    close_and_remove(fd, "file");
    free(path);
}
