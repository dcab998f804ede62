/* Pages that are read and written. */
#include "surface.h"

/* Pages 3 and 40. */
void shared_write(void)
{
    int fd = new_file("shared-write");
    char *memory = map(fd, WHOLE, PROT_READ | PROT_WRITE, MAP_SHARED);
    touch(memory, 3);
    touch(memory, 40);
    CHECK_OK(munmap(memory, WHOLE));
    char found;
    CHECK_EQ(pread(fd, &found, 1, 40 * PAGE), 1);
    CHECK_EQ(found, 'w');
    remove_file(fd, "shared-write");
}

/* Pages 5 and 6 are written, page 30 read; the file stays as it was. */
void private_write(void)
{
    int fd = new_file("private-write");
    char *memory = map(fd, WHOLE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    touch(memory, 5);
    touch(memory, 6);
    CHECK_EQ(look(memory, 30), 'p');
    CHECK_OK(munmap(memory, WHOLE));
    char found;
    CHECK_EQ(pread(fd, &found, 1, 5 * PAGE), 1);
    CHECK_EQ(found, 'p');
    remove_file(fd, "private-write");
}

/* All pages. */
void sequential_read(void)
{
    int fd = new_file("sequential-read");
    char *memory = map(fd, WHOLE, PROT_READ, MAP_SHARED);
    CHECK_OK(madvise(memory, WHOLE, MADV_SEQUENTIAL));
    for (int page = 0; page < PAGES; page++)
        CHECK_EQ(look(memory, page), 'p');
    CHECK_OK(munmap(memory, WHOLE));
    remove_file(fd, "sequential-read");
}

/* Pages 2 and 50. */
void sparse_read(void)
{
    int fd = new_file("sparse-read");
    char *memory = map(fd, WHOLE, PROT_READ, MAP_PRIVATE);
    CHECK_OK(posix_madvise(memory, WHOLE, POSIX_MADV_RANDOM));
    CHECK_EQ(look(memory, 2), 'p');
    CHECK_EQ(look(memory, 50), 'p');
    CHECK_OK(munmap(memory, WHOLE));
    remove_file(fd, "sparse-read");
}

/* Every second one of so many pages that their list takes more than one record. */
void scattered_write(void)
{
    const long pages = 3000;
    int fd = new_file("scattered-write");
    CHECK_OK(ftruncate(fd, pages * PAGE));
    char *memory = map(fd, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    for (int page = 0; page < pages; page += 2)
        touch(memory, page);
    CHECK_OK(munmap(memory, pages * PAGE));
    remove_file(fd, "scattered-write");
}

/* All pages, without a look at any. */
void populated(void)
{
    int fd = new_file("populated");
    char *memory = map(fd, WHOLE, PROT_READ, MAP_SHARED | MAP_POPULATE);
    CHECK_OK(munmap(memory, WHOLE));
    remove_file(fd, "populated");
}

/* Page 9 is read, and page 11 written once that is allowed. */
void becomes_writable(void)
{
    int fd = new_file("becomes-writable");
    char *memory = map(fd, WHOLE, PROT_READ, MAP_PRIVATE);
    CHECK_EQ(look(memory, 9), 'p');
    CHECK_OK(mprotect(memory, WHOLE, PROT_READ | PROT_WRITE));
    touch(memory, 11);
    CHECK_OK(mprotect(memory, WHOLE, PROT_READ));
    CHECK_OK(munmap(memory, WHOLE));
    remove_file(fd, "becomes-writable");
}

/* Page 0 of a file of one page, so often that nobody can look each time. */
void often(void)
{
    int fd = new_file("often");
    for (int i = 0; i < 1000; i++) {
        char *memory = map(fd, PAGE, PROT_READ, MAP_PRIVATE);
        CHECK_EQ(look(memory, 0), 'p');
        CHECK_OK(munmap(memory, PAGE));
    }
    remove_file(fd, "often");
}
