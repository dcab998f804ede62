/* privileged: a program with more rights than its user, which drops them after a first file: `before` is written with
 * them, `after` without. The loader takes no preloaded library into such a program.
 */
#include "common.h"
#include <fcntl.h>
#include <sys/auxv.h>

static void write_file(const char *name, const char *text)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0644);
    CHECK(fd >= 0);
    CHECK_EQ(write(fd, text, strlen(text)), strlen(text));
    CHECK_OK(close(fd));
}

int main(void)
{
    if (!getauxval(AT_SECURE)) {
        puts("privileged: no rights to drop");
        return 0;
    }
    write_file("before", "with rights");
    CHECK_OK(setresuid(getuid(), getuid(), getuid()));
    write_file("after", "without");
    puts("privileged: dropped");
    return 0;
}
