/* Opening and closing. */
#include "surface.h"

/* libc's own names of the same calls, and those that a fortified program calls when it gives no mode. */
extern int __open(const char *path, int flags, ...);
extern int __open64(const char *path, int flags, ...);
extern int __open_2(const char *path, int flags);
extern int __open64_2(const char *path, int flags);
extern int __openat_2(int dir, const char *path, int flags);
extern int __openat64_2(int dir, const char *path, int flags);
extern int __close(int fd);

/* The descriptor names the file and has this access mode; closes it. */
static void check_opened(int fd, int access, mode_t mode)
{
    struct stat status;
    CHECK(fd >= 0);
    CHECK_OK(fstat(fd, &status));
    CHECK_EQ(status.st_mode & 07777, mode);
    CHECK_EQ(fcntl(fd, F_GETFL) & O_ACCMODE, access);
    CHECK_OK(close(fd));
}

static void all_names(void)
{
    int here = open(".", O_RDONLY | O_DIRECTORY);
    CHECK(here >= 0);
    check_opened(open("a", O_WRONLY | O_CREAT | O_EXCL, 0600), O_WRONLY, 0600);
    check_opened(open64("b", O_RDWR | O_CREAT | O_EXCL, 0666), O_RDWR, 0644); /* less the umask */
    check_opened(openat(here, "c", O_RDWR | O_CREAT | O_EXCL, 0640), O_RDWR, 0640);
    check_opened(openat64(AT_FDCWD, "d", O_RDWR | O_CREAT | O_EXCL, 0604), O_RDWR, 0604);
    check_opened(creat("e", 0700), O_WRONLY, 0700);
    check_opened(creat64("f", 0755), O_WRONLY, 0755);
    check_opened(__open("g", O_RDWR | O_CREAT, 0611), O_RDWR, 0611);
    check_opened(__open64("h", O_RDWR | O_CREAT, 0622), O_RDWR, 0600);
    check_opened(__open_2("a", opaque(O_RDONLY)), O_RDONLY, 0600);
    check_opened(__open64_2("b", opaque(O_WRONLY)), O_WRONLY, 0644);
    check_opened(__openat_2(here, "c", opaque(O_RDWR)), O_RDWR, 0640);
    check_opened(__openat64_2(here, "d", opaque(O_RDONLY)), O_RDONLY, 0604);
    /* Flags that are no constant: the fortified build takes the checked entry points. */
    check_opened(open("a", opaque(O_RDONLY)), O_RDONLY, 0600);
    check_opened(openat(here, "b", opaque(O_RDONLY)), O_RDONLY, 0644);
    int fd = open("a", O_RDONLY);
    CHECK_OK(__close(fd));
    CHECK_FAILS(close(fd), EBADF);
    for (char name[2] = "a"; name[0] <= 'h'; name[0]++)
        CHECK_OK(unlink(name));
    CHECK_OK(close(here));
}

static void flags(void)
{
    int fd = new_file("file");
    CHECK_EQ(write(fd, "0123456789", 10), 10);
    CHECK_FAILS(open("file", O_RDWR | O_CREAT | O_EXCL, 0644), EEXIST);
    CHECK_FAILS(open("missing", O_RDONLY), ENOENT);
    CHECK_FAILS(open("file/below", O_RDONLY), ENOTDIR);
    CHECK_FAILS(open("file", O_RDONLY | O_DIRECTORY), ENOTDIR);
    CHECK_FAILS(open(".", O_WRONLY), EISDIR);
    CHECK_FAILS(open("", O_RDONLY), ENOENT);
    CHECK_OK(symlink("file", "link"));
    CHECK_FAILS(open("link", O_RDONLY | O_NOFOLLOW), ELOOP);
    CHECK_OK(unlink("link"));

    int closing = open("file", O_RDONLY | O_CLOEXEC);
    CHECK_EQ(fcntl(closing, F_GETFD), FD_CLOEXEC);
    CHECK_OK(close(closing));
    int only_path = open("file", O_PATH);
    CHECK_FAILS(read(only_path, (char[1]){0}, 1), EBADF);
    CHECK_OK(close(only_path));
    int emptied = open("file", O_WRONLY | O_TRUNC);
    CHECK_EQ(size_of(fd), 0);
    CHECK_OK(close(emptied));

    int appending = open("file", O_WRONLY | O_APPEND);
    CHECK_EQ(pwrite(fd, "abc", 3, 0), 3);
    CHECK_EQ(write(appending, "def", 3), 3);
    CHECK_EQ(pwrite(appending, "ghi", 3, 1), 3); /* Linux: at the end all the same */
    CHECK_EQ(lseek(appending, 0, SEEK_CUR), 6);
    check_content(fd, "abcdefghi");
    CHECK_OK(close(appending));
    close_and_remove(fd, "file");
}

static void unnamed(void)
{
    struct stat status;
    int fd = open(".", O_TMPFILE | O_RDWR, 0640);
    CHECK(fd >= 0);
    CHECK_OK(fstat(fd, &status));
    CHECK_EQ(status.st_mode & 07777, 0640);
    CHECK_EQ(status.st_nlink, 0);
    CHECK_EQ(write(fd, "nameless", 8), 8);
    check_content(fd, "nameless");
    CHECK_OK(close(fd));
    int here = open(".", O_RDONLY | O_DIRECTORY);
    check_opened(openat(here, ".", O_TMPFILE | O_RDWR, 0604), O_RDWR, 0604);
    CHECK_OK(close(here));
}

void opening(void)
{
    all_names();
    flags();
    unnamed();
}
