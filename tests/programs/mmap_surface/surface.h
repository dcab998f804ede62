/* What the parts of mmap_surface share. Files have PAGES pages; each part touches pages that a test knows. */
#ifndef SURFACE_H
#define SURFACE_H

#include "../common.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>

enum { PAGE = 4096, PAGES = 64, WHOLE = PAGE * PAGES };

/* Tests: touching. */
void shared_write(void);
void private_write(void);
void sequential_read(void);
void sparse_read(void);
void scattered_write(void);
void populated(void);
void becomes_writable(void);
void often(void);
/* Tests: what becomes of mappings. */
void growing(void);
void shrinking(void);
void moving_over(void);
void doubling(void);
void partly_unmapped(void);
void replaced(void);
void replaced_by_memory(void);
void after_close(void);
void truncated(void);
/* Tests: calls about mappings. */
void write_back(void);
void advice(void);
void locking(void);
void errors(void);
void anonymous(void);
void device(void);
void mapped_stream(void);
/* Tests: processes and threads. */
void forked(void);
void becomes_program(void);
void confined(void);
void threads(void);
void left_mapped(void);
void too_many(void);

/* A new file of PAGES pages that are on storage. */
static inline int new_file(const char *name)
{
    static char page[PAGE];
    int fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0644);
    CHECK(fd >= 0);
    memset(page, 'p', sizeof page);
    for (int i = 0; i < PAGES; i++)
        CHECK_EQ(write(fd, page, sizeof page), sizeof page);
    CHECK_OK(fsync(fd));
    return fd;
}

static inline char *map(int fd, size_t bytes, int protection, int flags)
{
    char *memory = mmap(NULL, bytes, protection, flags, fd, 0);
    CHECK(memory != MAP_FAILED);
    return memory;
}

static inline void remove_file(int fd, const char *name)
{
    CHECK_OK(close(fd));
    CHECK_OK(unlink(name));
}

/* Reads and writes that the compiler does not take out. */
static inline void touch(char *memory, int page)
{
    ((volatile char *)memory)[(size_t)page * PAGE] = 'w';
}

static inline char look(const char *memory, int page)
{
    return ((const volatile char *)memory)[(size_t)page * PAGE];
}

#endif
