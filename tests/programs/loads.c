/* Loads a library, unloads it and loads it again, and writes into the file `maps` what of it and of the program itself is mapped. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Lines of /proc/self/maps with one of the names, after what they are told at. */
static void print_maps(const char *when, const char *first, const char *second) {
    FILE *maps = fopen("/proc/self/maps", "r"), *to = fopen("maps", "a");
    char line[4352];
    if (maps == NULL || to == NULL) exit(2);
    while (fgets(line, sizeof line, maps) != NULL)
        if (strstr(line, first) != NULL || strstr(line, second) != NULL) fprintf(to, "%s %s", when, line);
    fclose(maps);
    fclose(to);
}

static void *load(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(3);
    }
    int (*touch)(size_t);
    *(void **)&touch = dlsym(library, "touch");
    if (touch == NULL || touch(200) != 0) exit(4);
    return library;
}

int main(int count, char **arguments) {
    if (count < 2) return 1;
    const char *library = arguments[1];
    void *loaded = load(library);
    print_maps("first", library, arguments[0]);
    if (dlclose(loaded) != 0) return 5;
    print_maps("unloaded", library, library);
    load(library);
    pid_t child = fork();
    if (child == 0) _exit(0);
    if (child < 0 || waitpid(child, NULL, 0) != child) return 6;
    print_maps("second", library, library);
    return 0;
}
