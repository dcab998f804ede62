/* Another tool's library: it stands in front of open, read, write and close, finds what is behind it by dlsym, and tells
 * at the end, in the file `interposed`, how often each was called. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_int opens, reads, writes, closes;

static void *behind(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (!found)
        abort();
    return found;
}

int open(const char *path, int flags, ...)
{
    static int (*real)(const char *, int, ...);
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    if (!real)
        real = behind("open");
    atomic_fetch_add(&opens, 1);
    return real(path, flags, mode);
}

ssize_t read(int fd, void *buffer, size_t bytes)
{
    static ssize_t (*real)(int, void *, size_t);
    if (!real)
        real = behind("read");
    atomic_fetch_add(&reads, 1);
    return real(fd, buffer, bytes);
}

ssize_t write(int fd, const void *buffer, size_t bytes)
{
    static ssize_t (*real)(int, const void *, size_t);
    if (!real)
        real = behind("write");
    atomic_fetch_add(&writes, 1);
    return real(fd, buffer, bytes);
}

int close(int fd)
{
    static int (*real)(int);
    if (!real)
        real = behind("close");
    atomic_fetch_add(&closes, 1);
    return real(fd);
}

__attribute__((destructor)) static void tell(void)
{
    FILE *to = fopen("interposed", "w");
    if (!to)
        abort();
    fprintf(to, "%d opens, %d reads, %d writes, %d closes\n", opens, reads, writes, closes);
    fclose(to);
}
