/* Sizes, synchronization, and what the stat family says. */
#include "surface.h"

#if defined(__x86_64__)
enum { STAT_VERSION = 1 };
#else
enum { STAT_VERSION = 0 };
#endif

/* What programs built before glibc 2.33 call for stat, lstat, fstat and fstatat. */
extern int __xstat(int version, const char *path, struct stat *status);
extern int __lxstat(int version, const char *path, struct stat *status);
extern int __fxstat(int version, int fd, struct stat *status);
extern int __fxstatat(int version, int dir, const char *path, struct stat *status, int flags);
extern int __xstat64(int version, const char *path, struct stat64 *status);
extern int __lxstat64(int version, const char *path, struct stat64 *status);
extern int __fxstat64(int version, int fd, struct stat64 *status);
extern int __fxstatat64(int version, int dir, const char *path, struct stat64 *status, int flags);

void sizes(void)
{
    int fd = new_file("file");
    CHECK_EQ(write(fd, "0123456789", 10), 10);
    CHECK_OK(ftruncate(fd, 5));
    check_content(fd, "01234");
    CHECK_OK(ftruncate64(fd, 6LL << 30));
    CHECK_EQ(size_of(fd), 6LL << 30);
    CHECK_OK(truncate("file", 3));
    check_content(fd, "012");
    CHECK_OK(truncate64("file", 100));
    CHECK_EQ(size_of(fd), 100);
    CHECK_FAILS(truncate("missing", 0), ENOENT);
    CHECK_FAILS(ftruncate(fd, -1), EINVAL);

    CHECK_OK(fallocate(fd, 0, 0, 8192));
    CHECK_EQ(size_of(fd), 8192);
    CHECK_OK(fallocate64(fd, FALLOC_FL_KEEP_SIZE, 8192, 4096));
    CHECK_EQ(size_of(fd), 8192);
    CHECK_OK(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096));
    char byte = 1;
    CHECK_EQ(pread(fd, &byte, 1, 0), 1);
    CHECK_EQ(byte, 0);
    CHECK_FAILS(fallocate(fd, 0, 0, 0), EINVAL);
    CHECK_OK(posix_fallocate(fd, 0, 16384));
    CHECK_OK(posix_fallocate64(fd, 0, 20000));
    CHECK_EQ(size_of(fd), 20000);
    CHECK_EQ(posix_fallocate(-1, 0, 10), EBADF); /* the error is the result */
    close_and_remove(fd, "file");
}

void syncing(void)
{
    int fd = new_file("file");
    CHECK_EQ(write(fd, "data", 4), 4);
    CHECK_OK(fsync(fd));
    CHECK_OK(fdatasync(fd));
    CHECK_OK(sync_file_range(fd, 0, 4, SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER));
    CHECK_OK(syncfs(fd));
    sync();
    int ends[2];
    CHECK_OK(pipe(ends));
    CHECK_FAILS(fsync(ends[0]), EINVAL);
    CHECK_OK(close(ends[0]));
    CHECK_OK(close(ends[1]));
    close_and_remove(fd, "file");
}

static void check_stat(int result, const struct stat *status, mode_t type, long long size)
{
    CHECK_EQ(result, 0);
    CHECK_EQ(status->st_mode & S_IFMT, type);
    CHECK_EQ(status->st_size, size);
}

static void check_stat64(int result, const struct stat64 *status, mode_t type, long long size)
{
    CHECK_EQ(result, 0);
    CHECK_EQ(status->st_mode & S_IFMT, type);
    CHECK_EQ(status->st_size, size);
}

static void old_names(int fd)
{
    struct stat s;
    struct stat64 s64;
    check_stat(__xstat(STAT_VERSION, "link", &s), &s, S_IFREG, 7);
    check_stat(__lxstat(STAT_VERSION, "link", &s), &s, S_IFLNK, 4);
    check_stat(__fxstat(STAT_VERSION, fd, &s), &s, S_IFREG, 7);
    check_stat(__fxstatat(STAT_VERSION, AT_FDCWD, "file", &s, 0), &s, S_IFREG, 7);
    check_stat64(__xstat64(STAT_VERSION, "file", &s64), &s64, S_IFREG, 7);
    check_stat64(__lxstat64(STAT_VERSION, "link", &s64), &s64, S_IFLNK, 4);
    check_stat64(__fxstat64(STAT_VERSION, fd, &s64), &s64, S_IFREG, 7);
    check_stat64(__fxstatat64(STAT_VERSION, AT_FDCWD, "file", &s64, 0), &s64, S_IFREG, 7);
}

void metadata(void)
{
    struct stat s;
    struct stat64 s64;
    struct statx sx;
    int fd = new_file("file"), here = open(".", O_RDONLY | O_DIRECTORY);
    CHECK_EQ(write(fd, "content", 7), 7);
    CHECK_OK(symlink("file", "link"));
    check_stat(stat("link", &s), &s, S_IFREG, 7);
    check_stat(lstat("link", &s), &s, S_IFLNK, 4);
    check_stat(fstat(fd, &s), &s, S_IFREG, 7);
    check_stat(fstatat(here, "link", &s, AT_SYMLINK_NOFOLLOW), &s, S_IFLNK, 4);
    check_stat(fstatat(fd, "", &s, AT_EMPTY_PATH), &s, S_IFREG, 7);
    check_stat64(stat64("file", &s64), &s64, S_IFREG, 7);
    check_stat64(lstat64("link", &s64), &s64, S_IFLNK, 4);
    check_stat64(fstat64(fd, &s64), &s64, S_IFREG, 7);
    check_stat64(fstatat64(here, "file", &s64, 0), &s64, S_IFREG, 7);
    CHECK_OK(statx(AT_FDCWD, "link", 0, STATX_BASIC_STATS, &sx));
    CHECK(S_ISREG(sx.stx_mode) && sx.stx_size == 7);
    CHECK_OK(statx(here, "link", AT_SYMLINK_NOFOLLOW, STATX_TYPE | STATX_SIZE, &sx));
    CHECK(S_ISLNK(sx.stx_mode) && sx.stx_size == 4);
    CHECK_FAILS(stat("missing", &s), ENOENT);
    CHECK_FAILS(lstat("file/below", &s), ENOTDIR);
    CHECK_FAILS(fstatat(here, "missing", &s, 0), ENOENT);
    CHECK_FAILS(statx(here, "missing", 0, STATX_SIZE, &sx), ENOENT);
    old_names(fd);

    CHECK_OK(access("file", R_OK | W_OK));
    CHECK_FAILS(access("missing", F_OK), ENOENT);
    CHECK_OK(faccessat(here, "file", R_OK, 0));
    CHECK_OK(faccessat(here, "link", F_OK, AT_SYMLINK_NOFOLLOW));
    CHECK_FAILS(faccessat(here, "missing", F_OK, 0), ENOENT);
    CHECK_OK(close(here));
    CHECK_OK(unlink("link"));
    close_and_remove(fd, "file");
}
