/* Environments of other programs, as no shell makes them. */
#include "cases.h"
#include <sys/mman.h>

/* An environment whose only entry goes on into memory that is not there, and one that lies there itself. */
void environment_torn(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
    CHECK_OK(mprotect(pages + page, page, PROT_NONE));
    memset(pages, 'E', page);
    char *words[] = {"true", NULL}, *torn[] = {pages + page - 10, NULL};
    CHECK_FAILS(execve("/bin/true", words, torn), EFAULT);
    CHECK_FAILS(execve("/bin/true", words, (char **)(pages + page)), EFAULT);
    CHECK_OK(munmap(pages, 2 * page));
}

/* The child of a vfork becomes a program whose environment has one entry, and prints six bytes. */
void vfork_with_environment(void)
{
    int fd = open("file", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    CHECK(fd >= 0);
    char *words[] = {self, "--child", "print", "vfork", NULL}, *environment[] = {"A=b", NULL};
    pid_t child = vfork();
    CHECK(child >= 0);
    if (child == 0) {
        if (dup2(fd, STDOUT_FILENO) == STDOUT_FILENO)
            execve(self, words, environment);
        _exit(1);
    }
    check_exit(child, 0);
    CHECK_OK(close(fd));
    check_and_remove("file", "vfork\n");
}
