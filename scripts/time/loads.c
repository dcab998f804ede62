/* Loads libraries and uses a page of each.
 *
 *   loads LIBRARY ...
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char **arguments)
{
    for (int number = 1; number < count; number++) {
        void *library = dlopen(arguments[number], RTLD_NOW | RTLD_LOCAL);
        int (*entry)(int);
        *(void **)&entry = library ? dlsym(library, "entry") : NULL;
        if (!entry) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        if (entry(40000) != 0)
            return 2;
    }
    return 0;
}
