/* Permissions, owners, times, extended attributes, special files, file systems, the root. */
#include "surface.h"
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <utime.h>

extern int __statfs(const char *path, struct statfs *status);
extern int __xmknod(int version, const char *path, mode_t mode, dev_t *device);
extern int __xmknodat(int version, int dir, const char *path, mode_t mode, dev_t *device);

static struct stat status_of(const char *name)
{
    struct stat status;
    CHECK_OK(lstat(name, &status));
    return status;
}

static void check_mode(const char *name, mode_t mode)
{
    CHECK_EQ(status_of(name).st_mode, mode);
}

void permissions(void)
{
    int fd = new_file("file"), here = open(".", O_RDONLY | O_DIRECTORY);
    CHECK_OK(chmod("file", 0600));
    check_mode("file", S_IFREG | 0600);
    CHECK_OK(fchmod(fd, 0640));
    check_mode("file", S_IFREG | 0640);
    CHECK_OK(fchmodat(here, "file", 0604, 0));
    check_mode("file", S_IFREG | 0604);
    CHECK_OK(fchmodat(here, "file", 0611, AT_SYMLINK_NOFOLLOW));
    check_mode("file", S_IFREG | 0611);
    CHECK_OK(lchmod("file", 0622));
    check_mode("file", S_IFREG | 0622);
    CHECK_OK(symlink("file", "link"));
    CHECK_FAILS(lchmod("link", 0600), EOPNOTSUPP);
    CHECK_FAILS(chmod("missing", 0600), ENOENT);
    CHECK_FAILS(fchmod(-1, 0600), EBADF);
    CHECK_FAILS(fchmodat(here, "file/below", 0600, 0), ENOTDIR);

    uid_t user = geteuid();
    gid_t group = getegid();
    CHECK_OK(chown("file", user, group));
    CHECK_OK(chown("file", -1, -1)); /* as it is */
    CHECK_OK(lchown("link", user, -1));
    CHECK_OK(fchown(fd, -1, group));
    CHECK_OK(fchownat(here, "link", user, group, AT_SYMLINK_NOFOLLOW));
    CHECK_OK(fchownat(fd, "", user, group, AT_EMPTY_PATH));
    CHECK_FAILS(chown("missing", user, group), ENOENT);
    CHECK_FAILS(lchown("missing", user, group), ENOENT);
    CHECK_FAILS(fchown(-1, user, group), EBADF);
    CHECK_FAILS(fchownat(here, "missing", user, group, 0), ENOENT);
    CHECK_EQ(status_of("link").st_uid, user);
    CHECK_OK(unlink("link"));
    CHECK_OK(close(here));
    close_and_remove(fd, "file");
}

static void check_time(const char *name, long long seconds)
{
    CHECK_EQ(status_of(name).st_mtim.tv_sec, seconds);
}

void times(void)
{
    int fd = new_file("file"), here = open(".", O_RDONLY | O_DIRECTORY);
    CHECK_OK(symlink("file", "link"));
    const struct timespec exact[2] = {{100, 5}, {101, 6}};
    const struct timeval rough[2] = {{200, 7}, {201, 8}};
    const struct utimbuf whole = {300, 301};
    CHECK_OK(utimensat(here, "file", exact, 0));
    CHECK_EQ(status_of("file").st_mtim.tv_nsec, 6);
    check_time("file", 101);
    CHECK_OK(utimes("file", rough));
    check_time("file", 201);
    CHECK_OK(utime("file", &whole));
    check_time("file", 301);
    CHECK_OK(futimens(fd, exact));
    check_time("file", 101);
    CHECK_OK(futimes(fd, rough));
    check_time("file", 201);
    CHECK_OK(futimens(fd, (const struct timespec[2]){{0, UTIME_OMIT}, {400, 0}}));
    check_time("file", 400);
    CHECK_OK(futimesat(here, "file", rough));
    check_time("file", 201);
    CHECK_OK(futimesat(fd, NULL, NULL)); /* now, of the descriptor */
    CHECK(status_of("file").st_mtim.tv_sec > 1000);
    CHECK_OK(lutimes("link", rough));
    check_time("link", 201);
    CHECK_OK(utimensat(AT_FDCWD, "link", exact, AT_SYMLINK_NOFOLLOW));
    check_time("link", 101);
    CHECK_OK(utime("file", NULL));
    CHECK_FAILS(utimensat(here, "missing", exact, 0), ENOENT);
    CHECK_FAILS(utimes("missing", rough), ENOENT);
    CHECK_FAILS(utime("missing", &whole), ENOENT);
    CHECK_FAILS(lutimes("missing", rough), ENOENT);
    CHECK_FAILS(futimens(-1, exact), EBADF);
    CHECK_OK(unlink("link"));
    CHECK_OK(close(here));
    close_and_remove(fd, "file");
}

static void on_descriptor(int fd)
{
    char value[16] = "", list[64] = "";
    CHECK_EQ(fgetxattr(fd, "user.a", value, sizeof value), 5);
    CHECK_OK(fsetxattr(fd, "user.b", "", 0, 0));
    CHECK_EQ(fgetxattr(fd, "user.b", value, sizeof value), 0);
    CHECK_EQ(flistxattr(fd, list, sizeof list), sizeof "user.a" + sizeof "user.b");
    CHECK_OK(fremovexattr(fd, "user.b"));
    CHECK_FAILS(fremovexattr(fd, "user.b"), ENODATA);
    CHECK_FAILS(fgetxattr(-1, "user.a", value, sizeof value), EBADF);
    CHECK_FAILS(fsetxattr(-1, "user.a", "", 0, 0), EBADF);
    CHECK_FAILS(flistxattr(-1, list, sizeof list), EBADF);
}

void extended_attributes(void)
{
    char value[16] = "", list[64] = "";
    int fd = new_file("file");
    CHECK_OK(symlink("file", "link"));
    if (setxattr("link", "user.a", "value", 5, XATTR_CREATE) == 0) { /* not every file system keeps them */
        CHECK_FAILS(setxattr("file", "user.a", "other", 5, XATTR_CREATE), EEXIST);
        CHECK_FAILS(setxattr("file", "user.c", "other", 5, XATTR_REPLACE), ENODATA);
        CHECK_EQ(getxattr("link", "user.a", value, sizeof value), 5);
        CHECK_TEXT(value, "value");
        CHECK_EQ(lgetxattr("file", "user.a", NULL, 0), 5); /* how much room it takes */
        CHECK_FAILS(getxattr("file", "user.a", value, 2), ERANGE);
        CHECK_EQ(listxattr("link", list, sizeof list), sizeof "user.a");
        CHECK_TEXT(list, "user.a");
        CHECK_EQ(llistxattr("file", list, sizeof list), sizeof "user.a");
        CHECK_FAILS(lsetxattr("link", "user.a", "value", 5, 0), EPERM); /* not on links */
        CHECK_FAILS(lremovexattr("link", "user.a"), EPERM);
        on_descriptor(fd);
        CHECK_OK(removexattr("file", "user.a"));
        CHECK_FAILS(getxattr("file", "user.a", value, sizeof value), ENODATA);
    } else {
        CHECK_EQ(errno, EOPNOTSUPP);
    }
    CHECK_FAILS(getxattr("file", "", value, sizeof value), ERANGE);
    CHECK_FAILS(getxattr("file", "nonsense.a", value, sizeof value), EOPNOTSUPP);
    CHECK_FAILS(getxattr("missing", "user.a", value, sizeof value), ENOENT);
    CHECK_FAILS(lgetxattr("missing", "user.a", value, sizeof value), ENOENT);
    CHECK_FAILS(listxattr("missing", list, sizeof list), ENOENT);
    CHECK_FAILS(removexattr("missing", "user.a"), ENOENT);
    CHECK_OK(unlink("link"));
    close_and_remove(fd, "file");
}

void special_files(void)
{
    int here = open(".", O_RDONLY | O_DIRECTORY);
    dev_t none = makedev(0, 0);
    CHECK_OK(mknod("a", S_IFREG | 0640, none));
    check_mode("a", S_IFREG | 0640);
    CHECK_OK(mknodat(here, "b", S_IFIFO | 0600, none));
    check_mode("b", S_IFIFO | 0600);
    CHECK_OK(mkfifo("c", 0666));
    check_mode("c", S_IFIFO | 0644);
    CHECK_OK(mkfifoat(here, "d", 0604));
    check_mode("d", S_IFIFO | 0604);
    CHECK_OK(__xmknod(0, "e", S_IFSOCK | 0600, &none));
    check_mode("e", S_IFSOCK | 0600);
    CHECK_OK(__xmknodat(0, here, "f", S_IFREG | 0600, &none));
    check_mode("f", S_IFREG | 0600);
    CHECK_FAILS(mknod("a", S_IFREG | 0640, none), EEXIST);
    CHECK_FAILS(mkfifo("missing/c", 0666), ENOENT);
    CHECK_FAILS(mkfifoat(here, "b", 0666), EEXIST);

    int reader = open("c", O_RDONLY | O_NONBLOCK), writer = open("c", O_WRONLY);
    char buffer[8] = "";
    CHECK_EQ(write(writer, "fifo", 4), 4);
    CHECK_EQ(read(reader, buffer, opaque(sizeof buffer)), 4);
    CHECK_TEXT(buffer, "fifo");
    CHECK_OK(close(reader));
    CHECK_OK(close(writer));
    for (char name[2] = "a"; name[0] <= 'f'; name[0]++)
        CHECK_OK(unlink(name));
    CHECK_OK(close(here));
}

void file_systems(void)
{
    struct statfs s;
    struct statfs64 s64;
    struct statvfs v;
    struct statvfs64 v64;
    int fd = new_file("file");
    CHECK_OK(statfs("file", &s));
    CHECK_OK(__statfs(".", &s));
    CHECK_OK(statfs64("file", &s64));
    CHECK_EQ(s.f_type, s64.f_type);
    CHECK_OK(fstatfs(fd, &s));
    CHECK_OK(fstatfs64(fd, &s64));
    CHECK_EQ(s.f_blocks, s64.f_blocks);
    CHECK_OK(statvfs("file", &v));
    CHECK_OK(statvfs64("file", &v64));
    CHECK_EQ(v.f_namemax, v64.f_namemax);
    CHECK_OK(fstatvfs(fd, &v));
    CHECK_OK(fstatvfs64(fd, &v64));
    CHECK_FAILS(statfs("missing", &s), ENOENT);
    CHECK_FAILS(statvfs("missing", &v), ENOENT);
    CHECK_FAILS(fstatfs(-1, &s), EBADF);
    CHECK_FAILS(fstatvfs(-1, &v), EBADF);
    close_and_remove(fd, "file");
}

/* The root cannot be changed back: in a child. */
void other_root(void)
{
    CHECK_OK(mkdir("root", 0755));
    CHECK_FAILS(chroot("missing"), ENOENT);
    pid_t child = fork();
    if (child == 0) {
        if (geteuid() != 0) {
            CHECK_FAILS(chroot("root"), EPERM);
        } else if (chroot("root") == 0) {
            CHECK_OK(chdir("/"));
            CHECK_FAILS(access("/root", F_OK), ENOENT);
            CHECK_OK(access("/", F_OK));
        } else {
            CHECK_EQ(errno, EPERM); /* root without the capability */
        }
        _exit(0);
    }
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    CHECK_OK(rmdir("root"));
}
