/* Another user for files alone: the process stays what it is, and may go back. */
#include "cases.h"
#include <sys/fsuid.h>

enum { NOBODY = 65534, NO_USER = -1 };

static void write_as_another(void)
{
    int own = setfsuid(NO_USER), other = geteuid() == 0 ? NOBODY : own;
    setfsuid((uid_t)other);
    CHECK_EQ(setfsuid(NO_USER), other);
    write_many("home/file");
    setfsuid((uid_t)other);
    append_text("home/file", "again");
    setfsuid((uid_t)own);
    append_text("home/file", "the end");
}

/* As another user a process writes 300 000 times one byte; then it becomes the same one again, and itself. */
void user_of_files_changed(void)
{
    CHECK_OK(mkdir("home", 0777));
    CHECK_OK(chmod("home", 0777));
    run_in_child(write_as_another, 0, 0);
    CHECK_OK(unlink("home/file"));
    CHECK_OK(rmdir("home"));
}
