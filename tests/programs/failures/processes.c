/* Processes that become others, daemons, prisoners; and what they find when they start. */
#include "cases.h"
#include <dirent.h>
#include <sys/stat.h>

/* 5000 writes of one byte, then another program in this process's place. */
void writes_then_exec(void)
{
    pid_t child = fork_child();
    if (child == 0) {
        int fd = open("file", O_WRONLY | O_CREAT | O_EXCL, 0644);
        for (int i = 0; i < 5000; i++)
            CHECK_EQ(write(fd, "w", 1), 1);
        execl(self, self, "--child", "print", "became another", (char *)NULL);
        _exit(1);
    }
    check_exit(child, 0);
    struct stat status;
    CHECK_OK(stat("file", &status));
    CHECK_EQ(status.st_size, 5000);
    CHECK_OK(unlink("file"));
}

/* 20 000 writes of one byte after the last variable of the environment is gone. */
void environment_cleared(void)
{
    pid_t child = fork_child();
    if (child == 0) {
        CHECK_OK(clearenv());
        int fd = open("file", O_WRONLY | O_CREAT | O_EXCL, 0644);
        for (int i = 0; i < 20000; i++)
            CHECK_EQ(write(fd, "e", 1), 1);
        exit(0);
    }
    check_exit(child, 0);
    CHECK_OK(unlink("file"));
}

/* 20 000 writes of one byte in a root folder where nothing else is, the trace neither. Only root can go there;
 * others write the same at home. */
void root_changed(void)
{
    CHECK_OK(mkdir("prison", 0755));
    pid_t child = fork_child();
    if (child == 0) {
        CHECK_OK(chdir("prison"));
        if (chroot(".") != 0)
            CHECK_EQ(errno, EPERM);
        int fd = open("file", O_WRONLY | O_CREAT | O_EXCL, 0644);
        for (int i = 0; i < 20000; i++)
            CHECK_EQ(write(fd, "p", 1), 1);
        exit(0);
    }
    check_exit(child, 0);
    CHECK_OK(unlink("prison/file"));
    CHECK_OK(rmdir("prison"));
}

/* daemon(3): the parent writes before, the daemon afterwards, each seven bytes. The end of the pipe tells of the
 * daemon's end. */
void daemon_with_parent(void)
{
    int ends[2];
    char byte;
    CHECK_OK(pipe(ends));
    pid_t child = fork_child();
    if (child == 0) {
        append_text("file", "parent ");
        if (daemon(1, 0) != 0)
            _exit(1);
        append_text("file", "daemon ");
        exit(0);
    }
    CHECK_OK(close(ends[1]));
    check_exit(child, 0);
    CHECK_EQ(read(ends[0], &byte, 1), 0);
    CHECK_OK(close(ends[0]));
    check_and_remove("file", "parent daemon ");
}

/* The child of a vfork redirects its output, then becomes a program that prints six bytes. */
void vfork_dup2_exec(void)
{
    int fd = open("file", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    CHECK(fd >= 0);
    pid_t child = vfork();
    CHECK(child >= 0);
    if (child == 0) {
        if (dup2(fd, STDOUT_FILENO) != STDOUT_FILENO)
            _exit(1);
        execl(self, self, "--child", "print", "vfork", (char *)NULL);
        _exit(1);
    }
    check_exit(child, 0);
    CHECK_EQ(write(STDOUT_FILENO, "", 0), 0); /* the parent's own is where it was */
    CHECK_OK(close(fd));
    check_and_remove("file", "vfork\n");
}

/* A program that starts without standard streams gets 0 to 2 for its first files, as they are: blocking. */
void standard_streams_closed(void)
{
    pid_t child = fork_child();
    if (child == 0) {
        for (int fd = 0; fd < 3; fd++)
            close(fd);
        execl(self, self, "--child", "closed-streams", (char *)NULL);
        _exit(1);
    }
    check_exit(child, 0);
    check_and_remove("file", "012");
}

int under_closed_streams(void)
{
    for (int expected = 0; expected < 3; expected++) {
        char digit = (char)('0' + expected);
        int fd = open("file", O_WRONLY | O_CREAT | O_APPEND, 0644);
        if (fd != expected || fcntl(fd, F_GETFL) & O_NONBLOCK || write(fd, &digit, 1) != 1)
            return 10 + fd;
    }
    return 0;
}

/* A program that starts with 0 to 2 finds these and no other. */
void descriptors_listed(void)
{
    pid_t child = fork_child();
    if (child == 0) {
        CHECK_OK(close_range(3, ~0u, 0));
        execl(self, self, "--child", "descriptors", (char *)NULL);
        _exit(1);
    }
    check_exit(child, 0);
}

int list_descriptors(void)
{
    DIR *all = opendir("/proc/self/fd");
    CHECK(all != NULL);
    CHECK_EQ(dirfd(all), 3);
    int found = 0;
    for (struct dirent *entry; (entry = readdir(all)) != NULL;)
        found += entry->d_name[0] != '.';
    CHECK_EQ(found, 4);
    CHECK_OK(closedir(all));
    return 0;
}

/* 400 000 reads of eight bytes. */
void many_reads(void)
{
    uint64_t block[64], word;
    fill_pattern(block, sizeof block, 0, 18);
    int fd = open("file", O_RDWR | O_CREAT | O_EXCL, 0644);
    CHECK_EQ(pwrite(fd, block, sizeof block, 0), sizeof block);
    for (int i = 0; i < 400000; i++) {
        CHECK_EQ(pread(fd, &word, opaque(sizeof word), i % 64 * 8), sizeof word);
        CHECK_EQ(word, block[i % 64]);
    }
    CHECK_OK(close(fd));
    CHECK_OK(unlink("file"));
}
