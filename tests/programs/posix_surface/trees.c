/* Whole trees and made-up names: what libc does in many calls for one. */
#include "surface.h"
#include <dirent.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>
#include <sys/mman.h>

enum { FOLDERS = 3, FILES = 4 };

static int files_seen, folders_seen;

static int visit(const char *path, const struct stat *status, int type)
{
    CHECK(path != NULL && status != NULL);
    files_seen += type == FTW_F;
    folders_seen += type == FTW_D || type == FTW_DP;
    return 0;
}

static int visit_with_place(const char *path, const struct stat *status, int type, struct FTW *place)
{
    CHECK(place->level <= 2);
    return visit(path, status, type);
}

/* All were visited since the last time. */
static void check_visits(void)
{
    CHECK_EQ(files_seen, FOLDERS * FILES);
    CHECK_EQ(folders_seen, FOLDERS + 1);
    files_seen = folders_seen = 0;
}

static void walk_with_fts(void)
{
    char *roots[] = {"tree", NULL};
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    CHECK(walk != NULL);
    for (FTSENT *entry; (entry = fts_read(walk)) != NULL;) {
        files_seen += entry->fts_info == FTS_F;
        folders_seen += entry->fts_info == FTS_D;
    }
    CHECK_OK(fts_close(walk));
    check_visits();
}

/* The names that getdents64 gives, less "." and "..". */
static int count_names(int fd)
{
    char entries[512];
    int found = 0;
    for (ssize_t bytes; (bytes = getdents64(fd, entries, sizeof entries)) != 0;) {
        CHECK(bytes > 0);
        for (ssize_t at = 0; at < bytes;) {
            const struct dirent64 *entry = (const void *)(entries + at);
            found += entry->d_name[0] != '.';
            at += entry->d_reclen;
        }
    }
    return found;
}

static void make_tree(void)
{
    CHECK_OK(mkdir("tree", 0755));
    char name[] = "tree/0/a";
    for (name[5] = '0'; name[5] < '0' + FOLDERS; name[5]++) {
        name[6] = 0;
        CHECK_OK(mkdir(name, 0755));
        name[6] = '/';
        for (name[7] = 'a'; name[7] < 'a' + FILES; name[7]++)
            CHECK_OK(close(new_file(name)));
    }
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
    CHECK(status != NULL && type != FTW_NS && place->level >= 0);
    return remove(path);
}

void trees(void)
{
    make_tree();
    CHECK_OK(ftw("tree", visit, 4));
    check_visits();
    CHECK_OK(ftw64("tree", (__ftw64_func_t)visit, 4));
    check_visits();
    CHECK_OK(nftw("tree", visit_with_place, 4, FTW_PHYS));
    check_visits();
    walk_with_fts();

    int tree = open("tree", O_RDONLY | O_DIRECTORY);
    CHECK_EQ(count_names(tree), FOLDERS);
    CHECK_OK(lseek(tree, 0, SEEK_SET));
    CHECK_FAILS(getdents64(tree, (char[4]){0}, opaque(4)), EINVAL); /* no entry is that short */
    CHECK_FAILS(getdents64(-1, (char[64]){0}, opaque(64)), EBADF);
    struct dirent **entries;
    CHECK_EQ(scandirat(tree, "1", &entries, NULL, alphasort), FILES + 2);
    for (int i = 0; i < FILES + 2; i++)
        free(entries[i]);
    free(entries);
    int fd = openat(tree, "0/a", O_RDONLY);
    CHECK_FAILS(getdents64(fd, (char[64]){0}, opaque(64)), ENOTDIR);
    CHECK_OK(close(fd));
    CHECK_OK(close(tree));

    glob_t found;
    CHECK_OK(glob("tree/*/[ab]", 0, NULL, &found));
    CHECK_EQ(found.gl_pathc, 2 * FOLDERS);
    globfree(&found);
    char *resolved = realpath("tree/../tree/./1", NULL);
    CHECK(resolved != NULL && strcmp(resolved + strlen(resolved) - 7, "/tree/1") == 0);
    free(resolved);
    CHECK_OK(nftw("tree", remove_one, 4, FTW_DEPTH | FTW_PHYS));
    CHECK_FAILS(access("tree", F_OK), ENOENT);
}

static void check_writable(int fd)
{
    CHECK(fd >= 0);
    CHECK_EQ(write(fd, "made up", 7), 7);
    check_content(fd, "made up");
    CHECK_OK(close(fd));
}

void temporary_files(void)
{
    char names[][16] = {"a.XXXXXX", "b.XXXXXX", "c.XXXXXX.c", "d.XXXXXX.d", "e.XXXXXX"};
    check_writable(mkstemp(names[0]));
    check_writable(mkostemp64(names[1], O_CLOEXEC));
    check_writable(mkstemps(names[2], 2));
    check_writable(mkostemps(names[3], 2, O_APPEND));
    CHECK(mkdtemp(names[4]) == names[4]);
    for (int i = 0; i < 5; i++)
        CHECK_OK(remove(names[i]));
    CHECK_FAILS(remove(names[0]), ENOENT);
    CHECK_FAILS(mkstemp(names[0]), EINVAL); /* no XXXXXX any more */

    FILE *file = tmpfile();
    CHECK(file != NULL);
    CHECK(fputs("nameless", file) >= 0);
    CHECK_OK(fflush(file));
    CHECK_EQ(size_of(fileno(file)), 8);
    CHECK_OK(fclose(file));
}

void memory_files(void)
{
    int fd = memfd_create("memory", MFD_CLOEXEC);
    CHECK(fd >= 0);
    CHECK_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
    CHECK_EQ(write(fd, "volatile", 8), 8);
    check_content(fd, "volatile");
    CHECK_OK(close(fd));
    CHECK_FAILS(memfd_create("memory", opaque(0x7fff)), EINVAL);

    char name[64];
    snprintf(name, sizeof name, "/posix_surface.%d", (int)getpid());
    fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    CHECK(fd >= 0);
    CHECK_OK(ftruncate(fd, 4096));
    CHECK_EQ(size_of(fd), 4096);
    CHECK_OK(close(fd));
    CHECK_FAILS(shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600), EEXIST);
    CHECK_OK(shm_unlink(name));
    CHECK_FAILS(shm_open(name, O_RDWR, 0), ENOENT);
}
