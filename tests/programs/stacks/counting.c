/* Counts every call of an MPI function that the MPI of the job has, whatever its arguments, and goes on to it: the test's own
 * profiling library. `names.h` lists the functions, as X(number, name). The counts are added to the file $COUNTS/<pid> when
 * the process ends. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define X(number, name) #name,
static const char *const names[] = {
#include "names.h"
};
#undef X
#define COUNT (sizeof names / sizeof *names)

long counted[COUNT];
void *functions[COUNT];
void find_function(void);

#define X(number, name)                                                                                               \
    __asm__(".globl " #name "\n.type " #name ", @function\n" #name ":\n"                                              \
            "lock incq counted + 8 * " #number "(%rip)\n"                                                             \
            "mov functions + 8 * " #number "(%rip), %r11\n"                                                           \
            "test %r11, %r11\njz 1f\njmp *%r11\n1: mov $" #number ", %r10d\njmp find_function\n");
#include "names.h"
#undef X
__asm__(".globl find_function\n.hidden counted, functions, find_function, look_up\nfind_function:\n"
        "push %rdi\npush %rsi\npush %rdx\npush %rcx\npush %r8\npush %r9\nsub $8, %rsp\n"
        "mov %r10, %rdi\ncall look_up\nmov %rax, %r11\n"
        "add $8, %rsp\npop %r9\npop %r8\npop %rcx\npop %rdx\npop %rsi\npop %rdi\njmp *%r11\n");

static char wanted[128];
static void *found;

/* MPI may have been loaded for one library alone, as in Python. */
static int look_in(struct dl_phdr_info *object, size_t size, void *unused)
{
    (void)size, (void)unused;
    void *handle = object->dlpi_name[0] ? dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    found = handle ? dlsym(handle, wanted) : NULL;
    return found != NULL;
}

void *look_up(long number)
{
    snprintf(wanted, sizeof wanted, "P%s", names[number]);
    found = dlsym(RTLD_NEXT, wanted);
    if (!found)
        dl_iterate_phdr(look_in, NULL);
    return functions[number] = found;
}

__attribute__((destructor)) static void tell(void)
{
    char path[4096];
    const char *folder = getenv("COUNTS");
    FILE *file = NULL;
    for (size_t at = 0; folder && at < COUNT; at++) {
        if (!counted[at])
            continue;
        snprintf(path, sizeof path, "%s/%d", folder, (int)getpid());
        if (!file && !(file = fopen(path, "a")))
            return;
        fprintf(file, "%s %ld\n", names[at], counted[at]);
    }
    if (file)
        fclose(file);
}
