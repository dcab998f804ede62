/* loader: loads a library while it runs, calls its plugin_run("plugin"), and writes six bytes to a file before and
 * after.
 *
 *   loader --library PATH [--how local|global|deepbind|namespace] [--copies N]
 *
 * `local` and `global`: as dlopen(3) has them. `deepbind`: the library looks for functions in its own surroundings
 * first. `namespace`: dlmopen(3) with a libc of its own. With --copies the library is copied and loaded N times, and
 * the program prints how many of the copies found room.
 */
#include "common.h"
#include <dlfcn.h>
#include <fcntl.h>

static void append(const char *text)
{
    int fd = open("file", O_WRONLY | O_CREAT | O_APPEND, 0644);
    CHECK(fd >= 0);
    CHECK_EQ(write(fd, text, strlen(text)), strlen(text));
    CHECK_OK(close(fd));
}

static void *load(const char *path, const char *how)
{
    if (strcmp(how, "namespace") == 0)
        return dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
    if (strcmp(how, "deepbind") == 0)
        return dlopen(path, RTLD_NOW | RTLD_DEEPBIND);
    if (strcmp(how, "global") == 0)
        return dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static int run(void *library)
{
    int (*plugin_run)(const char *) = (int (*)(const char *))dlsym(library, "plugin_run");
    CHECK(plugin_run != NULL);
    return plugin_run("plugin");
}

static void copy(const char *from, const char *to)
{
    char block[65536];
    int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_EXCL, 0755);
    CHECK(in >= 0 && out >= 0);
    for (ssize_t got; (got = read(in, block, sizeof block)) > 0;)
        CHECK_EQ(write(out, block, got), got);
    CHECK_OK(close(in));
    CHECK_OK(close(out));
}

/* Loads copies until there is no room, or all are loaded. */
static void load_copies(const char *path, long long copies)
{
    long long loaded = 0;
    for (; loaded < copies; loaded++) {
        char name[32];
        snprintf(name, sizeof name, "./copy.%lld.so", loaded);
        copy(path, name);
        void *library = load(name, "local");
        CHECK_OK(unlink(name));
        if (!library)
            break;
        CHECK_OK(run(library));
    }
    printf("loader: %lld of %lld copies found room\n", loaded, copies);
}

int main(int argc, char **argv)
{
    const char *library = NULL, *how = "local";
    long long copies = 0;
    const struct setting settings[] = {
        {"--library", TEXT, &library, "the library to be loaded"},
        {"--how", TEXT, &how, "local, global, deepbind, namespace (local)"},
        {"--copies", NUMBER, &copies, "so many copies of it, one after the other (0: the library itself)"},
        {NULL, FLAG, NULL, NULL},
    };
    parse_options(argc, argv, settings);
    REQUIRE(library != NULL);
    alarm(60);
    append("before");
    if (copies > 0) {
        load_copies(library, copies);
    } else {
        void *loaded = load(library, how);
        if (!loaded)
            fail(__FILE__, __LINE__, "%s", dlerror());
        CHECK_OK(run(loaded));
    }
    append("after!");
    return 0;
}
