/* What the parts of stdio_surface share. */
#ifndef SURFACE_H
#define SURFACE_H

#include "../common.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <wchar.h>

/* Tests: one function per way of using C streams. */
void characters(void);
void formatted(void);
void large_blocks(void);
void buffering(void);
void appending(void);
void updating(void);
void seeking(void);
void lines_and_fields(void);
void reopening(void);
void temporary_files(void);
void commands(void);
void errors(void);
void ends_of_process(void);

static inline FILE *opened(const char *name, const char *mode)
{
    FILE *stream = fopen(name, mode);
    if (!stream)
        fail(__FILE__, __LINE__, "cannot open %s as %s", name, mode);
    return stream;
}

/* How many bytes the file has now, whatever the stream still holds. */
static inline long long size_of(const char *name)
{
    struct stat status;
    CHECK_OK(stat(name, &status));
    return status.st_size;
}

/* The file holds exactly this text; removes it. */
static inline void check_and_remove(const char *name, const char *text)
{
    char found[512] = "";
    int fd = open(name, O_RDONLY);
    CHECK(fd >= 0);
    CHECK_EQ(read(fd, found, opaque(sizeof found - 1)), strlen(text));
    CHECK_TEXT(found, text);
    CHECK_OK(close(fd));
    CHECK_OK(unlink(name));
}

#endif
