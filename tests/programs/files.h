/* What programs share that make files of their own and remove them. */
#ifndef FILES_H
#define FILES_H

#include "common.h"
#include <fcntl.h>

/* A new, empty file, open for reading and writing. */
static inline int new_file(const char *name)
{
    int fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0644);
    CHECK(fd >= 0);
    return fd;
}

static inline void close_and_remove(int fd, const char *name)
{
    CHECK_OK(close(fd));
    CHECK_OK(unlink(name));
}

#endif
