/* unloading: a thread unloads copies of a library, one after the other, while the program calls io_destroy, which came in
 * with another library after them.
 *
 *   unloading --library PATH --copied PATH [--copies N]
 *
 * The function comes from `library`; it is called at least once.
 */
#include "common.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>

static void **copies;
static long long count = 200;
static atomic_int begun, over;

static void *unload_all(void *unused)
{
    atomic_store(&begun, 1);
    for (long long i = 0; i < count; i++)
        CHECK_OK(dlclose(copies[i]));
    atomic_store(&over, 1);
    return unused;
}

/* Under a name of its own: a library whose name is known already is not loaded again. */
static void *load_copy(const char *path, long long number)
{
    char block[65536], name[32];
    snprintf(name, sizeof name, "./copy.%lld.so", number);
    int in = open(path, O_RDONLY), out = open(name, O_WRONLY | O_CREAT | O_EXCL, 0755);
    CHECK(in >= 0 && out >= 0);
    for (ssize_t got; (got = read(in, block, sizeof block)) > 0;)
        CHECK_EQ(write(out, block, got), got);
    CHECK_OK(close(in));
    CHECK_OK(close(out));
    void *copy = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    CHECK(copy != NULL);
    CHECK_OK(unlink(name));
    return copy;
}

int main(int argc, char **argv)
{
    const char *library = NULL, *copied = NULL;
    const struct setting settings[] = {
        {"--library", TEXT, &library, "the library that has io_destroy"},
        {"--copied", TEXT, &copied, "the library that is loaded and unloaded"},
        {"--copies", NUMBER, &count, "so many copies of it (200)"},
        {NULL, FLAG, NULL, NULL},
    };
    parse_options(argc, argv, settings);
    REQUIRE(library != NULL && copied != NULL && count > 0);
    alarm(60);
    copies = allocate(count * sizeof *copies);
    for (long long i = 0; i < count; i++)
        copies[i] = load_copy(copied, i);
    void *loaded = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
    CHECK(loaded != NULL);
    int (*destroy)(void *) = (int (*)(void *))dlsym(RTLD_DEFAULT, "io_destroy");
    CHECK(destroy != NULL);
    pthread_t unloading;
    CHECK_OK(pthread_create(&unloading, NULL, unload_all, NULL));
    while (!atomic_load(&begun))
        CHECK_OK(destroy(NULL));
    do
        CHECK_OK(destroy(NULL));
    while (!atomic_load(&over));
    CHECK_OK(pthread_join(unloading, NULL));
    CHECK_OK(dlclose(loaded));
    free(copies);
    return 0;
}
