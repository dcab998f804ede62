/* For programs that consist of named parts: all run, or those named on the command line, in the order of the table. */
#ifndef PARTS_H
#define PARTS_H

#include "common.h"
#include <sys/stat.h>

struct part {
    const char *name;
    void (*run)(void);
};

/* Ends the program with code 2 unless every word is the name of a part. */
static inline void check_parts(const char *program, char **names, const struct part *parts)
{
    for (; *names; names++) {
        const struct part *part = parts;
        while (part->name && strcmp(part->name, *names) != 0)
            part++;
        if (part->name)
            continue;
        fprintf(stderr, "%s: no part is called %s; there are:", program, *names);
        for (part = parts; part->name; part++)
            fprintf(stderr, " %s", part->name);
        fputc('\n', stderr);
        exit(2);
    }
}

static inline int is_named(const char *name, char **names)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

/* Runs the parts; `says` where this process reports them. */
static inline void run_parts(const char *program, char **names, const struct part *parts, int says)
{
    for (const struct part *part = parts; part->name; part++) {
        if (*names && !is_named(part->name, names))
            continue;
        part->run();
        if (says) {
            printf("%s: %s passed\n", program, part->name);
            fflush(stdout);
        }
    }
}

/* Makes `folder` in `dir` and goes there; the parts clean up behind themselves, which leave_folder verifies. */
static inline void enter_folder(const char *dir, const char *folder)
{
    char *path = path_in(dir, folder);
    if (mkdir(path, 0755) != 0 || chdir(path) != 0)
        fail(__FILE__, __LINE__, "cannot make the folder %s, which must not exist yet", path);
    free(path);
}

static inline void leave_folder(const char *folder)
{
    CHECK_OK(chdir(".."));
    CHECK_OK(rmdir(folder));
}

/* The main function of a program that is nothing but parts which work in a folder of their own. */
static inline int parts_main(int argc, char **argv, const char *program, const struct part *parts)
{
    const char *dir = ".";
    const struct setting settings[] = {
        {"--dir", TEXT, &dir, "folder in which the program makes one of its own (.)"},
        {NULL, FLAG, NULL, NULL},
    };
    int next = 1;
    parse_settings(argc, argv, &next, settings);
    check_parts(program, argv + next, parts);
    static char folder[64];
    snprintf(folder, sizeof folder, "%s.files", program);
    enter_folder(dir, folder);
    run_parts(program, argv + next, parts, 1);
    leave_folder(folder);
    return 0;
}

#endif
