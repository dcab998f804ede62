/* What the parts of aio_surface share. */
#ifndef SURFACE_H
#define SURFACE_H

#include "../files.h"
#include <sys/stat.h>
#include <sys/uio.h>

void posix_transfers(void);
void posix_lists(void);
void posix_idle(void);
void libaio_transfers(void);
void libaio_refusals(void);
void libaio_queue(void);
void libaio_by_number(void);
void ring_transfers(void);
void ring_registered(void);
void ring_descriptors(void);
void ring_multishot(void);
void ring_wide(void);
void ring_polled(void);
void ring_by_number(void);
void ring_left(void);
void ring_closed(void);
void ring_later(void);

enum { BLOCK = 512 };

/* A block that tells which one it is. */
static inline void fill(char *block, int which)
{
    for (int i = 0; i < BLOCK; i++)
        block[i] = (char)(which * 31 + i);
}

static inline void check_block(const char *block, int which)
{
    char expected[BLOCK];
    fill(expected, which);
    CHECK(memcmp(block, expected, BLOCK) == 0);
}

#endif
