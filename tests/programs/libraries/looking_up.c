/* A tool that stands in front of dlsym(3) itself, counts what is looked up, and goes on to the real one. */
#define _GNU_SOURCE
#include <dlfcn.h>

/* How often anybody has asked. */
unsigned looked_up;

void *dlsym(void *handle, const char *name)
{
    static void *(*real)(void *, const char *);
    looked_up++;
    if (!real)
        real = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    if (!real) /* libc before 2.34, where it is in a library of its own */
        real = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    return real(handle, name); /* a tail call: RTLD_NEXT goes by the caller */
}
