/* patched: overwrites the entries of libc's mmap and munmap while it runs, as the libraries of networks do that want to know
 * of every mapping, and puts them back.
 *
 * One file is mapped before, one meanwhile, and another in its place, one behind. The first time, who is told of a mapping maps a
 * file for itself, and unmaps it.
 */
#include "files.h"
#include <dlfcn.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { JUMP_BYTES = 13, BYTES = 4096 };

struct patch {
    unsigned char *entry, before[JUMP_BYTES];
};

/* Volatile: a compiler takes it that mmap calls nothing of this file. */
static volatile int called;
static int own_file = -1;

static void map_own_file(void)
{
    int fd = own_file;
    own_file = -1;
    if (fd < 0)
        return;
    void *own = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, 0);
    CHECK(own != MAP_FAILED);
    CHECK_OK(munmap(own, BYTES));
}

static void *mmap_instead(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    called = called + 1;
    map_own_file();
    return (void *)syscall(SYS_mmap, address, bytes, protection, flags, fd, offset);
}

static int munmap_instead(void *address, size_t bytes)
{
    called = called + 1;
    return (int)syscall(SYS_munmap, address, bytes);
}

static void store(unsigned char *entry, const unsigned char *code)
{
    unsigned char *page = (unsigned char *)((uintptr_t)entry & -(uintptr_t)BYTES);
    CHECK_OK(mprotect(page, 2 * BYTES, PROT_READ | PROT_WRITE | PROT_EXEC));
    memcpy(entry, code, JUMP_BYTES);
    CHECK_OK(mprotect(page, 2 * BYTES, PROT_READ | PROT_EXEC));
}

/* The function of this name in libc itself begins with a jump: mov r11, function; jmp r11. */
static struct patch send_to(const char *name, void *function)
{
    unsigned char jump[JUMP_BYTES] = {0x49, 0xbb, 0, 0, 0, 0, 0, 0, 0, 0, 0x41, 0xff, 0xe3};
    struct patch patch = {.entry = dlsym(dlopen("libc.so.6", RTLD_NOW), name)};
    CHECK(patch.entry);
    memcpy(patch.before, patch.entry, JUMP_BYTES);
    memcpy(jump + 2, &function, sizeof function);
    store(patch.entry, jump);
    return patch;
}

static void *map(void *address, const char *name)
{
    int fd = open(name, O_RDONLY), flags = MAP_SHARED | (address ? MAP_FIXED : 0);
    char *mapped = mmap(address, BYTES, PROT_READ, flags, fd, 0);
    CHECK(mapped != MAP_FAILED);
    CHECK_EQ(mapped[0], name[0]);
    CHECK_OK(close(fd));
    return mapped;
}

int main(void)
{
    const char *const names[] = {"ahead", "meanwhile", "instead", "behind", "inside"};
    for (int i = 0; i < 5; i++) {
        int fd = new_file(names[i]);
        CHECK_EQ(pwrite(fd, names[i], 1, 0), 1);
        CHECK_OK(ftruncate(fd, BYTES));
        CHECK_OK(close(fd));
    }
    CHECK_OK(munmap(map(NULL, "ahead"), BYTES));
    int fd = open("inside", O_RDONLY);

    struct patch patches[] = {send_to("mmap", mmap_instead), send_to("munmap", munmap_instead)};
    own_file = fd;
    void *mapped = map(NULL, "meanwhile");
    CHECK_EQ(map(mapped, "instead") == mapped, 1);
    CHECK_OK(munmap(mapped, BYTES));
    CHECK_EQ(called, 5);
    CHECK_OK(close(fd));
    CHECK(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == EINVAL);
    /* libc's own calls come by as well. */
    void *volatile large = malloc(1 << 24);
    free(large);
    CHECK(called >= 8);
    for (int i = 0; i < 2; i++)
        store(patches[i].entry, patches[i].before);

    int before = called;
    CHECK_OK(munmap(map(NULL, "behind"), BYTES));
    CHECK(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == EINVAL);
    CHECK_EQ(called, before);
    for (int i = 0; i < 5; i++)
        CHECK_OK(unlink(names[i]));
    puts("patched: passed");
    return 0;
}
