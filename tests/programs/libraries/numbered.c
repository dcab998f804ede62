/* A library that makes the calls of its functions by number, as allocators and networks do that watch over memory. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    return (void *)syscall(SYS_mmap, address, bytes, protection, flags, fd, offset);
}

int munmap(void *address, size_t bytes)
{
    return (int)syscall(SYS_munmap, address, bytes);
}

void *mremap(void *address, size_t old_bytes, size_t new_bytes, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    void *new_address = flags & MREMAP_FIXED ? va_arg(arguments, void *) : NULL;
    va_end(arguments);
    return (void *)syscall(SYS_mremap, address, old_bytes, new_bytes, flags, new_address);
}

int mprotect(void *address, size_t bytes, int protection)
{
    return (int)syscall(SYS_mprotect, address, bytes, protection);
}

int msync(void *address, size_t bytes, int flags)
{
    return (int)syscall(SYS_msync, address, bytes, flags);
}

int madvise(void *address, size_t bytes, int advice)
{
    return (int)syscall(SYS_madvise, address, bytes, advice);
}

int mincore(void *address, size_t bytes, unsigned char *pages)
{
    return (int)syscall(SYS_mincore, address, bytes, pages);
}

int prctl(int option, ...)
{
    unsigned long words[4];
    va_list arguments;
    va_start(arguments, option);
    for (int i = 0; i < 4; i++)
        words[i] = va_arg(arguments, unsigned long);
    va_end(arguments);
    return (int)syscall(SYS_prctl, option, words[0], words[1], words[2], words[3]);
}

int execve(const char *path, char *const words[], char *const environment[])
{
    return (int)syscall(SYS_execve, path, words, environment);
}

void _exit(int code)
{
    for (;;)
        syscall(SYS_exit_group, code);
}
