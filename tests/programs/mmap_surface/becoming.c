/* What becomes of mappings: they grow, shrink, move, double, are unmapped in parts, and replaced. */
#include "surface.h"

/* Page 1 before, page 33 after. */
void growing(void)
{
    int fd = new_file("growing");
    char *memory = map(fd, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    touch(memory, 1);
    memory = mremap(memory, 16 * PAGE, WHOLE, MREMAP_MAYMOVE);
    CHECK(memory != MAP_FAILED);
    touch(memory, 33);
    CHECK_EQ(look(memory, 1), 'w');
    CHECK_OK(munmap(memory, WHOLE));
    remove_file(fd, "growing");
}

/* Page 50 is cut off, page 2 stays. */
void shrinking(void)
{
    int fd = new_file("shrinking");
    char *memory = map(fd, WHOLE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    touch(memory, 2);
    touch(memory, 50);
    CHECK(mremap(memory, WHOLE, 16 * PAGE, 0) == memory);
    CHECK_OK(munmap(memory, 16 * PAGE));
    remove_file(fd, "shrinking");
}

/* The pages of one file come to lie over those of another: 7 of the one, 8 of the other, which is lost. */
void moving_over(void)
{
    int fd = new_file("moving-over"), other = new_file("moved-over");
    char *memory = map(fd, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    char *lost = map(other, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    touch(memory, 7);
    touch(lost, 8);
    CHECK(mremap(memory, 16 * PAGE, 16 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, lost) == lost);
    CHECK_EQ(look(lost, 7), 'w');
    CHECK_EQ(look(lost, 8), 'p');
    CHECK_OK(munmap(lost, 16 * PAGE));
    remove_file(fd, "moving-over");
    remove_file(other, "moved-over");
}

/* A second mapping of the same pages: 4 by the first, 5 by the second. */
void doubling(void)
{
    int fd = new_file("doubling");
    char *memory = map(fd, WHOLE, PROT_READ | PROT_WRITE, MAP_SHARED);
    char *second = mremap(memory, 0, WHOLE, MREMAP_MAYMOVE);
    CHECK(second != MAP_FAILED && second != memory);
    touch(memory, 4);
    touch(second, 5);
    CHECK_EQ(look(memory, 5), 'w');
    CHECK_OK(munmap(memory, WHOLE));
    CHECK_OK(munmap(second, WHOLE));
    remove_file(fd, "doubling");
}

/* Pages 4, 20 and 60; the middle goes first. */
void partly_unmapped(void)
{
    int fd = new_file("partly-unmapped");
    char *memory = map(fd, WHOLE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    touch(memory, 4);
    touch(memory, 20);
    touch(memory, 60);
    CHECK_OK(munmap(memory + 16 * PAGE, 16 * PAGE));
    CHECK_OK(munmap(memory, 16 * PAGE));
    CHECK_OK(munmap(memory + 32 * PAGE, 32 * PAGE));
    remove_file(fd, "partly-unmapped");
}

/* Another file is mapped over pages 0 to 15; page 2 of the old one, 3 of the new one, 19 of the old one. */
void replaced(void)
{
    int fd = new_file("replaced"), other = new_file("replacing");
    char *memory = map(fd, WHOLE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    touch(memory, 2);
    touch(memory, 19);
    CHECK(mmap(memory, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, other, 0) == memory);
    touch(memory, 3);
    CHECK_OK(munmap(memory, WHOLE));
    remove_file(fd, "replaced");
    remove_file(other, "replacing");
}

/* Anonymous memory is mapped over pages 0 to 15; page 2 of the file, and 3 of the memory. */
void replaced_by_memory(void)
{
    int fd = new_file("replaced-by-memory");
    char *memory = map(fd, WHOLE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    touch(memory, 2);
    int flags = MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS;
    CHECK(mmap(memory, 16 * PAGE, PROT_READ | PROT_WRITE, flags, -1, 0) == memory);
    touch(memory, 3);
    CHECK_OK(munmap(memory, 16 * PAGE));
    CHECK_OK(munmap(memory + 16 * PAGE, WHOLE - 16 * PAGE));
    remove_file(fd, "replaced-by-memory");
}

/* Page 12, while the descriptor stands for another file. */
void after_close(void)
{
    int fd = new_file("after-close");
    char *memory = map(fd, WHOLE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    CHECK_OK(close(fd));
    CHECK_EQ(new_file("another"), fd);
    touch(memory, 12);
    CHECK_OK(munmap(memory, WHOLE));
    remove_file(fd, "another");
    CHECK_OK(unlink("after-close"));
}

/* Pages 3 and 50, of which the second is lost with the end of the file. */
void truncated(void)
{
    int fd = new_file("truncated");
    char *memory = map(fd, WHOLE, PROT_READ | PROT_WRITE, MAP_SHARED);
    touch(memory, 3);
    touch(memory, 50);
    CHECK_OK(ftruncate(fd, 16 * PAGE));
    CHECK_OK(munmap(memory, WHOLE));
    remove_file(fd, "truncated");
}
