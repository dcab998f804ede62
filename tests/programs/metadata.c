// Metadata calls on nested folders, as archivers and version control make them: on files that are there and on missing
// ones, on links, on folders that take other names. Every name begins with m.
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES = 20 };

static const char *path(const char *folder, const char *name, int number) {
    static char paths[4][64];
    static int next;
    char *made = paths[next++ % 4];
    snprintf(made, sizeof paths[0], "%s/%s%d", folder, name, number);
    return made;
}

static void in_folder(const char *folder) {
    struct stat found;
    assert(mkdir(folder, 0755) == 0);
    for (int number = 0; number < FILES; number++) {
        const char *file = path(folder, "m", number), *moved = path(folder, "mm", number), *linked = path(folder, "ml", number);
        assert(stat(file, &found) == -1 && errno == ENOENT);
        int fd = open(file, O_WRONLY | O_CREAT | O_EXCL, 0600);
        assert(fd >= 0 && write(fd, "x", 1) == 1 && close(fd) == 0);
        assert(stat(file, &found) == 0 && lstat(file, &found) == 0 && found.st_size == 1);
        assert(access(file, R_OK) == 0 && access(moved, F_OK) == -1 && errno == ENOENT);
        assert(chmod(file, 0644) == 0 && chown(file, getuid(), getgid()) == 0);
        assert(utimensat(AT_FDCWD, file, NULL, 0) == 0);
        assert(rename(file, moved) == 0 && link(moved, linked) == 0);
        assert(stat(linked, &found) == 0 && unlink(linked) == 0);
        assert(unlink(linked) == -1 && errno == ENOENT);
    }
    assert(utimensat(AT_FDCWD, folder, NULL, 0) == 0 && chmod(folder, 0750) == 0);
}

int main(void) {
    struct stat found;
    char target[64];
    const char *folders[] = {"ma", "ma/mb", "ma/mb/mc", "md"};
    for (int number = 0; number < 4; number++) in_folder(folders[number]);
    // A link that is only looked at.
    assert(symlink("m0", "ma/mlink") == 0 && lstat("ma/mlink", &found) == 0 && S_ISLNK(found.st_mode));
    assert(readlink("ma/mlink", target, sizeof target) == 2 && unlink("ma/mlink") == 0);
    // A folder with a new name: the old one leads nowhere, and then to another folder.
    assert(rename("ma/mb", "ma/me") == 0);
    assert(stat("ma/me/mm0", &found) == 0 && stat("ma/me/mc/mm0", &found) == 0);
    assert(stat("ma/mb/mm0", &found) == -1 && errno == ENOENT);
    assert(mkdir("ma/mb", 0755) == 0 && stat("ma/mb/mm0", &found) == -1 && errno == ENOENT);
    for (int number = 0; number < FILES; number++) assert(unlink(path("md", "mm", number)) == 0);
    assert(rmdir("md") == 0 && stat("md", &found) == -1 && errno == ENOENT);
    return 0;
}
