/* A library with a table of a mebibyte that is only read. */
#include <stddef.h>

enum { PAGE = 4096, PAGES = 256 };

const unsigned char table[PAGES * PAGE] = {1};
unsigned char counters[4 * PAGE] = {1};

/* Reads one page of the table, and writes into one of the counters. */
int touch(size_t page) {
    counters[2 * PAGE]++;
    return *(volatile const unsigned char *)&table[page * PAGE];
}
