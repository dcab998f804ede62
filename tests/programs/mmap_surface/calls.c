/* Calls about mappings, those that fail, and memory that is no file. */
#include "surface.h"

/* Page 6. */
void write_back(void)
{
    int fd = new_file("write-back");
    char *memory = map(fd, WHOLE, PROT_READ | PROT_WRITE, MAP_SHARED);
    touch(memory, 6);
    CHECK_OK(msync(memory, WHOLE, MS_SYNC));
    CHECK_OK(msync(memory, WHOLE, MS_ASYNC));
    CHECK_OK(munmap(memory, WHOLE));
    remove_file(fd, "write-back");
}

/* Page 8 is given away and read again. */
void advice(void)
{
    int fd = new_file("advice");
    char *memory = map(fd, WHOLE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    touch(memory, 8);
    CHECK_OK(madvise(memory, WHOLE, MADV_WILLNEED));
    CHECK_OK(madvise(memory, WHOLE, MADV_DONTNEED));
    CHECK_EQ(look(memory, 8), 'p');
    CHECK_OK(munmap(memory, WHOLE));
    remove_file(fd, "advice");
}

void locking(void)
{
    unsigned char resident[PAGES];
    int fd = new_file("locking");
    char *memory = map(fd, WHOLE, PROT_READ, MAP_SHARED);
    CHECK_OK(mlock(memory, PAGE));
    CHECK_OK(mlock2(memory + PAGE, PAGE, MLOCK_ONFAULT));
    CHECK_OK(munlock(memory, 2 * PAGE));
    CHECK_OK(mlockall(MCL_FUTURE));
    CHECK_OK(munlockall());
    CHECK_OK(mincore(memory, WHOLE, resident));
    CHECK_EQ(resident[0] & 1, 1);
    CHECK_OK(munmap(memory, WHOLE));
    remove_file(fd, "locking");
}

static void check_map_fails(int fd, size_t bytes, int protection, int flags, off_t offset, int error)
{
    CHECK_FAILS((long)mmap(NULL, opaque(bytes), protection, flags, fd, offset), error);
}

void errors(void)
{
    int fd = new_file("errors"), reader = open("errors", O_RDONLY), writer = open("errors", O_WRONLY);
    int folder = open(".", O_RDONLY | O_DIRECTORY);
    CHECK(reader >= 0 && writer >= 0 && folder >= 0);
    check_map_fails(reader, WHOLE, PROT_READ | PROT_WRITE, MAP_SHARED, 0, EACCES);
    check_map_fails(writer, WHOLE, PROT_READ, MAP_PRIVATE, 0, EACCES);
    check_map_fails(folder, WHOLE, PROT_READ, MAP_SHARED, 0, ENODEV);
    check_map_fails(fd, 0, PROT_READ, MAP_SHARED, 0, EINVAL);
    check_map_fails(fd, WHOLE, PROT_READ, MAP_SHARED, 1, EINVAL);
    check_map_fails(fd, WHOLE, PROT_READ, 0, 0, EINVAL);
    check_map_fails(999, WHOLE, PROT_READ, MAP_SHARED, 0, EBADF);
    char *memory = map(fd, WHOLE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    touch(memory, 1);
    CHECK_FAILS(munmap(memory + 1, PAGE), EINVAL);
    CHECK_FAILS(munmap(memory, 0), EINVAL);
    CHECK_FAILS(msync(memory, WHOLE, MS_SYNC | MS_ASYNC), EINVAL);
    CHECK_FAILS(madvise(memory, WHOLE, 12345), EINVAL);
    CHECK_EQ(posix_madvise(memory, WHOLE, 12345), EINVAL);
    CHECK_FAILS((long)mremap(memory + 1, PAGE, PAGE, 0), EINVAL);
    CHECK_FAILS((long)mremap(memory, WHOLE, 0, 0), EINVAL);
    CHECK_FAILS(mincore(memory, WHOLE, bad_address()), EFAULT);
    CHECK_EQ(look(memory, 1), 'w');
    CHECK_OK(munmap(memory, WHOLE));
    CHECK_OK(close(folder));
    CHECK_OK(close(writer));
    CHECK_OK(close(reader));
    remove_file(fd, "errors");
}

/* No file: nothing of this is I/O. */
void anonymous(void)
{
    for (int i = 0; i < 100; i++) {
        char *memory = map(-1, WHOLE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
        touch(memory, i % PAGES);
        CHECK_OK(madvise(memory, WHOLE, MADV_DONTNEED));
        CHECK_OK(mprotect(memory, WHOLE, PROT_READ));
        memory = mremap(memory, WHOLE, 2 * WHOLE, MREMAP_MAYMOVE);
        CHECK(memory != MAP_FAILED);
        CHECK_OK(munmap(memory, 2 * WHOLE));
    }
    char *large = allocate(64 << 20);
    large[0] = 1;
    free(large);
}

/* A device has no pages of a file. */
void device(void)
{
    int fd = open("/dev/zero", O_RDWR);
    CHECK(fd >= 0);
    char *memory = map(fd, WHOLE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    touch(memory, 1);
    CHECK_OK(munmap(memory, WHOLE));
    CHECK_OK(close(fd));
}

/* libc maps the file by itself. */
void mapped_stream(void)
{
    int fd = new_file("mapped-stream");
    FILE *stream = fopen("mapped-stream", "rm");
    CHECK(stream != NULL);
    for (long i = 0; i < WHOLE; i++)
        CHECK_EQ(getc(stream), 'p');
    CHECK_EQ(getc(stream), EOF);
    CHECK_OK(fclose(stream));
    remove_file(fd, "mapped-stream");
}
