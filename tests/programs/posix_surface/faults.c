/* What must fail, and in the way the kernel says: whoever stands between must not look first. */
#include "surface.h"
#include <dirent.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <utime.h>

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
        CHECK_FAILS(copy_file_range(fd, NULL, fd, NULL, 8, 0), EBADF);
        CHECK_FAILS(sendfile(fd, fd, NULL, 8), EBADF);
        CHECK_FAILS(splice(fd, NULL, fd, NULL, 8, 0), EBADF);
        CHECK_FAILS(tee(fd, fd, 8, 0), EBADF);
        CHECK_FAILS(vmsplice(fd, &vector, 1, 0), EBADF);
        CHECK_FAILS(fchmodat(fd, "file", 0644, 0), EBADF);
        CHECK_FAILS(fchownat(fd, "file", -1, -1, 0), EBADF);
        CHECK_FAILS(mknodat(fd, "file", S_IFREG | 0644, 0), EBADF);
        CHECK_FAILS(utimensat(fd, "file", NULL, 0), EBADF);
        CHECK_FAILS(lockf(fd, F_TEST, 1), EBADF);
        CHECK_FAILS(fcntl(fd, F_GETLK, &status), EBADF);
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
    CHECK_FAILS(chroot(bad), EFAULT);
    CHECK_FAILS(statfs(bad, &(struct statfs){0}), EFAULT);
    CHECK_FAILS(statvfs(bad, &(struct statvfs){0}), EFAULT);
    CHECK_FAILS(chmod(bad, 0644), EFAULT);
    CHECK_FAILS(fchmodat(AT_FDCWD, bad, 0644, 0), EFAULT);
    CHECK_FAILS(lchmod(bad, 0644), EFAULT);
    CHECK_FAILS(chown(bad, -1, -1), EFAULT);
    CHECK_FAILS(lchown(bad, -1, -1), EFAULT);
    CHECK_FAILS(fchownat(AT_FDCWD, bad, -1, -1, 0), EFAULT);
    CHECK_FAILS(utimes(bad, NULL), EFAULT);
    CHECK_FAILS(utime(bad, NULL), EFAULT);
    CHECK_FAILS(utimensat(AT_FDCWD, bad, NULL, 0), EFAULT);
    CHECK_FAILS(mkfifo(bad, 0644), EFAULT);
    CHECK_FAILS(mknod(bad, S_IFREG | 0644, 0), EFAULT);
    CHECK_FAILS(memfd_create(bad, 0), EFAULT);
}

/* Which of the two the kernel reads first depends on its version: whoever reads along must not expect either. */
static void bad_attributes(int fd)
{
    const char *bad = bad_address();
    char value[8];
    CHECK_FAILS(getxattr(bad, "user.a", value, sizeof value), EFAULT);
    CHECK_FAILS(lgetxattr(bad, bad, value, sizeof value), EFAULT);
    CHECK_FAILS(getxattr("file", bad, value, sizeof value), EFAULT);
    CHECK_FAILS(fgetxattr(fd, bad, value, sizeof value), EFAULT);
    CHECK_FAILS(listxattr(bad, value, sizeof value), EFAULT);
    CHECK_FAILS(removexattr(bad, "user.a"), EFAULT);
    CHECK_FAILS(removexattr("file", bad), EFAULT);
    CHECK_FAILS(setxattr("file", bad, value, 1, 0), EFAULT);
    CHECK_FAILS(setxattr("file", "user.a", bad, 1, 0), EFAULT);
    /* What would otherwise fail with an errno that tells of a text which was read. */
    CHECK_FAILS(fsetxattr(fd, bad, value, 1, XATTR_CREATE), EFAULT);
    CHECK_FAILS(openat(fd, bad, O_RDONLY), EFAULT);
    CHECK_FAILS(mkdirat(fd, bad, 0755), EFAULT);
    CHECK_FAILS(open(bad, O_WRONLY | O_CREAT | O_EXCL, 0644), EFAULT);
    CHECK_EQ(getxattr("missing", bad, value, sizeof value), -1);
    CHECK(errno == EFAULT || errno == ENOENT);
    CHECK_EQ(getxattr(bad, "", value, sizeof value), -1);
    CHECK(errno == EFAULT || errno == ERANGE);
}

static void bad_structures(int fd)
{
    void *bad = bad_address();
    int ends[2];
    CHECK_OK(pipe(ends));
    CHECK_FAILS(copy_file_range(fd, bad, fd, NULL, 4, 0), EFAULT);
    CHECK_FAILS(sendfile(ends[1], fd, bad, 4), EFAULT);
    CHECK_FAILS(splice(fd, bad, ends[1], NULL, 4, 0), EFAULT);
    CHECK_FAILS(vmsplice(ends[1], bad, 2, 0), EFAULT);
    CHECK_FAILS(fcntl(fd, F_GETLK, bad), EFAULT);
    CHECK_FAILS(fcntl(fd, F_OFD_SETLK, bad), EFAULT);
    CHECK_FAILS(fcntl(fd, F_SETOWN_EX, bad), EFAULT);
    CHECK_FAILS(ioctl(ends[0], FIONREAD, bad), EFAULT);
    CHECK_FAILS(statfs("file", bad), EFAULT);
    CHECK_FAILS(fstatfs(fd, bad), EFAULT);
    CHECK_FAILS(utimensat(AT_FDCWD, "file", bad, 0), EFAULT);
    CHECK_FAILS(futimens(fd, bad), EFAULT);
    int here = open(".", O_RDONLY | O_DIRECTORY);
    CHECK_FAILS(getdents64(here, bad, 1024), EFAULT);
    CHECK_OK(close(here));
    CHECK_OK(close(ends[0]));
    CHECK_OK(close(ends[1]));
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
    bad_attributes(fd);
    bad_structures(fd);
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
    CHECK_FAILS(chmod(path, 0644), ENAMETOOLONG);
    CHECK_FAILS(chown(path, -1, -1), ENAMETOOLONG);
    CHECK_FAILS(statfs(path, &(struct statfs){0}), ENAMETOOLONG);
    CHECK_FAILS(utimes(path, NULL), ENAMETOOLONG);
    CHECK_FAILS(mkfifo(path, 0644), ENAMETOOLONG);
    CHECK_FAILS(chroot(path), ENAMETOOLONG);
    CHECK_FAILS(getxattr(path, "user.a", NULL, 0), ENAMETOOLONG);
    CHECK_FAILS(setxattr(".", path, "", 0, 0), ERANGE);
    CHECK_FAILS(memfd_create(path, 0), EINVAL);
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
