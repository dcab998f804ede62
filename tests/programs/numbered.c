/* numbered: a file is mapped, asked about and written through; a child ends at once, another becomes `true`. */
#include "files.h"
#include "processes.h"
#include <sys/mman.h>
#include <sys/prctl.h>

int main(void)
{
    enum { BYTES = 1 << 16 };
    unsigned char pages[BYTES / 4096];
    char name[16] = "", *words[] = {"true", NULL}, *environment[] = {NULL};
    int fd = new_file("file");
    CHECK_OK(ftruncate(fd, BYTES));
    char *memory = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, 0);
    CHECK(memory != MAP_FAILED);
    CHECK_OK(mprotect(memory, BYTES, PROT_READ | PROT_WRITE));
    memory[0] = 'x';
    CHECK_OK(mincore(memory, BYTES, pages));
    CHECK_OK(msync(memory, BYTES, MS_SYNC));
    CHECK_OK(madvise(memory, BYTES, MADV_WILLNEED));
    memory = mremap(memory, BYTES, BYTES / 2, 0);
    CHECK(memory != MAP_FAILED);
    CHECK_OK(munmap(memory, BYTES / 2));
    CHECK_OK(prctl(PR_GET_NAME, name, 0, 0, 0));
    pid_t child = fork_child();
    if (child == 0)
        _exit(3);
    check_exit(child, 3);
    child = fork_child();
    if (child == 0) {
        execve("/bin/true", words, environment);
        _exit(4);
    }
    check_exit(child, 0);
    close_and_remove(fd, "file");
    return 0;
}
