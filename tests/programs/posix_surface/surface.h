/* What the parts of posix_surface share. */
#ifndef SURFACE_H
#define SURFACE_H

#include "../files.h"
#include <sys/stat.h>
#include <sys/types.h>

/* Tests: one function per family of calls. */
void opening(void);
void transfers(void);
void vectors(void);
void positions(void);
void sizes(void);
void syncing(void);
void kernel_copies(void);
void hints(void);
void metadata(void);
void links_and_names(void);
void directories(void);
void working_folder(void);
void duplicates(void);
void descriptor_flags(void);
void locks(void);
void pipes(void);
void seals(void);
void ioctls(void);
void clones(void);
void permissions(void);
void times(void);
void extended_attributes(void);
void special_files(void);
void file_systems(void);
void other_root(void);
void trees(void);
void temporary_files(void);
void memory_files(void);
void bad_descriptors(void);
void bad_addresses(void);
void long_paths(void);

/* The size of an open file. */
static inline long long size_of(int fd)
{
    struct stat status;
    CHECK_OK(fstat(fd, &status));
    return status.st_size;
}

/* The file holds exactly this text. */
static inline void check_content(int fd, const char *text)
{
    char found[256] = "";
    ssize_t bytes = pread(fd, found, opaque(sizeof found - 1), 0);
    CHECK_EQ(bytes, strlen(text));
    CHECK_TEXT(found, text);
}

#endif
