/* Names: links, renames, directories and their entries, the current folder. */
#include "surface.h"
#include <dirent.h>

static void make_file(const char *name)
{
    CHECK_OK(close(new_file(name)));
}

static void renames(int here)
{
    make_file("a");
    CHECK_OK(rename("a", "b"));
    CHECK_OK(renameat(here, "b", AT_FDCWD, "c"));
    CHECK_OK(renameat2(here, "c", here, "d", RENAME_NOREPLACE));
    make_file("e");
    CHECK_FAILS(renameat2(here, "d", here, "e", RENAME_NOREPLACE), EEXIST);
    CHECK_OK(renameat2(here, "d", here, "e", RENAME_EXCHANGE));
    CHECK_FAILS(rename("missing", "d"), ENOENT);
    CHECK_OK(rename("d", "e")); /* replaces it */
    CHECK_FAILS(access("d", F_OK), ENOENT);
    CHECK_OK(unlink("e"));
    CHECK_FAILS(unlink("e"), ENOENT);
}

static void links(int here)
{
    struct stat status;
    char target[32] = "";
    make_file("a");
    CHECK_OK(link("a", "b"));
    CHECK_OK(linkat(here, "a", here, "c", 0));
    CHECK_OK(stat("a", &status));
    CHECK_EQ(status.st_nlink, 3);
    CHECK_FAILS(link("a", "b"), EEXIST);
    CHECK_OK(symlink("a", "s"));
    CHECK_OK(symlinkat("nowhere", here, "t"));
    CHECK_EQ(readlink("s", target, opaque(sizeof target)), 1);
    CHECK_TEXT(target, "a");
    CHECK_EQ(readlinkat(here, "t", target, opaque(sizeof target)), 7);
    CHECK_TEXT(target, "nowhere");
    CHECK_EQ(readlink("t", target, 3), 3); /* cut, no error */
    CHECK_FAILS(readlink("a", target, sizeof target), EINVAL);
    CHECK_FAILS(open("t", O_RDONLY), ENOENT);
    CHECK_OK(unlinkat(here, "t", 0));
    CHECK_OK(unlinkat(AT_FDCWD, "s", 0));
    for (char name[2] = "a"; name[0] <= 'c'; name[0]++)
        CHECK_OK(unlink(name));
}

void links_and_names(void)
{
    int here = open(".", O_RDONLY | O_DIRECTORY);
    CHECK(here >= 0);
    renames(here);
    links(here);
    struct stat status;
    CHECK_OK(mkdir("dir", 0750));
    CHECK_OK(stat("dir", &status));
    CHECK_EQ(status.st_mode, S_IFDIR | 0750);
    CHECK_FAILS(mkdir("dir", 0750), EEXIST);
    CHECK_OK(mkdirat(here, "dir/below", 0700));
    CHECK_FAILS(rmdir("dir"), ENOTEMPTY);
    CHECK_FAILS(unlink("dir"), EISDIR);
    CHECK_OK(unlinkat(here, "dir/below", AT_REMOVEDIR));
    CHECK_OK(rmdir("dir"));
    CHECK_FAILS(rmdir("dir"), ENOENT);
    CHECK_OK(close(here));
}

/* Reads on to the end; the number of entries but for "." and "..", whose names are single digits. */
static int count_entries(DIR *stream)
{
    int found = 0;
    errno = 0;
    for (struct dirent *entry; (entry = readdir(stream)) != NULL;) {
        found += entry->d_name[0] != '.';
        CHECK(entry->d_name[0] == '.' || strlen(entry->d_name) == 1);
    }
    CHECK_EQ(errno, 0);
    return found;
}

static int is_digit_name(const struct dirent *entry)
{
    return entry->d_name[0] >= '0' && entry->d_name[0] <= '9';
}

/* readdir_r is deprecated, and called by programs all the same. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static int count_into_own_memory(DIR *stream)
{
    struct dirent entry, *result;
    int found = 0;
    while (readdir_r(stream, &entry, &result) == 0 && result != NULL)
        found += is_digit_name(result);
    return found;
}
#pragma GCC diagnostic pop

void directories(void)
{
    enum { FILES = 9 };
    CHECK_OK(mkdir("dir", 0755));
    char name[] = "dir/0";
    for (int i = 0; i < FILES; i++, name[4]++)
        make_file(name);

    DIR *stream = opendir("dir");
    CHECK(stream != NULL && dirfd(stream) >= 0);
    CHECK_EQ(count_entries(stream), FILES);
    CHECK(readdir(stream) == NULL); /* still at the end */
    rewinddir(stream);
    int found = 0;
    for (struct dirent64 *entry; (entry = readdir64(stream)) != NULL;)
        found += entry->d_name[0] != '.';
    CHECK_EQ(found, FILES);
    rewinddir(stream);
    long second = (readdir(stream), telldir(stream));
    int rest = count_entries(stream);
    seekdir(stream, second);
    CHECK_EQ(count_entries(stream), rest);
    rewinddir(stream);
    CHECK_EQ(count_into_own_memory(stream), FILES);
    CHECK_OK(closedir(stream));

    int fd = open("dir", O_RDONLY | O_DIRECTORY);
    stream = fdopendir(fd);
    CHECK(stream != NULL);
    CHECK_EQ(dirfd(stream), fd);
    CHECK_EQ(count_entries(stream), FILES);
    CHECK_OK(closedir(stream)); /* closes fd too */
    CHECK_FAILS(close(fd), EBADF);
    CHECK(opendir("missing") == NULL && errno == ENOENT);
    CHECK(fdopendir(-1) == NULL && errno == EBADF);

    struct dirent **entries;
    CHECK_EQ(scandir("dir", &entries, is_digit_name, alphasort), FILES);
    for (int i = 0; i < FILES; i++) {
        CHECK_EQ(entries[i]->d_name[0], '0' + i);
        free(entries[i]);
    }
    free(entries);
    for (name[4] = '0'; name[4] < '0' + FILES; name[4]++)
        CHECK_OK(unlink(name));
    CHECK_OK(rmdir("dir"));
}

void working_folder(void)
{
    int here = open(".", O_RDONLY | O_DIRECTORY);
    CHECK_OK(mkdir("dir", 0755));
    CHECK_OK(chdir("dir"));
    make_file("file");
    CHECK_OK(fchdir(here));
    CHECK_FAILS(access("file", F_OK), ENOENT);
    CHECK_OK(access("dir/file", F_OK));
    CHECK_FAILS(chdir("missing"), ENOENT);
    CHECK_OK(chdir("dir/.././dir"));
    CHECK_OK(unlink("../dir/file"));
    CHECK_OK(chdir(".."));
    CHECK_OK(rmdir("dir"));
    CHECK_OK(close(here));
}
