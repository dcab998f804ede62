// Leaves files behind in the current folder in the ways that shells, archivers and servers do: positions that processes
// share, folders that are only looked at, permissions, times, sockets, names that were there before. Each length is known.
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static void put(int fd, const char *text) { assert(write(fd, text, strlen(text)) == (ssize_t)strlen(text)); }

// A child that writes to `fd`, and reads `bytes` from `in`.
static void child(int fd, int in, size_t bytes) {
    pid_t pid = fork();
    assert(pid >= 0);
    if (pid == 0) {
        char buffer[64];
        put(fd, "child\n");
        assert(read(in, buffer, bytes) == (ssize_t)bytes);
        put(fd, "again\n");
        exit(0);
    }
    int status;
    assert(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void share_positions(void) {
    int in = open("in", O_RDONLY), out = open("out", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    assert(in >= 0 && out >= 0);
    char buffer[64];
    assert(read(in, buffer, 10) == 10);
    put(out, "before\n");
    child(out, in, 20);
    put(out, "between\n");
    assert(read(in, buffer, 10) == 10 && lseek(in, 0, SEEK_CUR) == 40);
    child(out, in, 30);
    put(out, "behind\n");
    assert(lseek(out, 0, SEEK_END) == 46 && lseek(in, 0, SEEK_CUR) == 70);
    close(in), close(out);
}

static void look(void) {
    struct stat about;
    char target[64];
    assert(access("looked", F_OK) == 0 && readlink("looked", target, sizeof target) == -1);
    assert(stat("looked/none", &about) == -1);
    assert(rename("looked", "moved") == 0);
    int fd = open("moved/inside", O_RDONLY);
    assert(fd >= 0 && read(fd, target, sizeof target) == 5);
    close(fd);
}

static void change(void) {
    int fd = open("made", O_RDWR | O_CREAT | O_EXCL, 0600);
    assert(fd >= 0 && fchmod(fd, 0640) == 0 && futimens(fd, NULL) == 0);
    assert(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0 && fchown(fd, geteuid(), getegid()) == 0);
    close(fd);
    assert(chmod("made", 0444) == 0 && utimensat(AT_FDCWD, "made", NULL, 0) == 0);
    assert(mkfifo("fifo", 0600) == 0);
    assert(open("made/none", O_RDONLY) == -1 && open("gone", O_RDONLY) == -1);
}

static void serve(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    assert(getcwd(address.sun_path, sizeof address.sun_path - 8) != NULL);
    strcat(address.sun_path, "/socket");
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert(fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0);
    assert(chmod("socket", 0700) == 0 && unlink("socket") == 0);
    close(fd);
}

int main(void) {
    share_positions();
    look();
    change();
    serve();
    return 0;
}
