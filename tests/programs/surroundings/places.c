/* Other roots, other users, other namespaces: what was within reach is not. */
#include "cases.h"
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>

enum { NOBODY = 65534 };

/* 300 000 writes of one byte, nothing else. */
void many_writes(void)
{
    write_many("file");
    CHECK_OK(unlink("file"));
}

static void enter_prison(void)
{
    CHECK_OK(chdir("prison"));
    if (chroot(".") != 0)
        CHECK_EQ(errno, EPERM);
    write_many("file");
}

/* 300 000 writes of one byte in a root folder where nothing else is. Only root can go there; others write the same at
 * home. */
void root_changed(void)
{
    CHECK_OK(mkdir("prison", 0755));
    run_in_child(enter_prison, 0, 0);
    CHECK_OK(unlink("prison/file"));
    CHECK_OK(rmdir("prison"));
}

static void become_nobody(void)
{
    if (geteuid() != 0)
        return;
    CHECK_OK(setgroups(0, NULL));
    CHECK_OK(setresgid(NOBODY, NOBODY, NOBODY));
    CHECK_OK(setresuid(NOBODY, NOBODY, NOBODY));
}

enum { ASKED = 50000, NAME_BYTES = 250 };

static void ask_for_much(void)
{
    char name[NAME_BYTES + 1];
    CHECK_OK(chdir("prison"));
    if (chroot(".") != 0)
        CHECK_EQ(errno, EPERM);
    become_nobody();
    for (long i = 0; i < ASKED; i++) {
        snprintf(name, sizeof name, "%0*ld", NAME_BYTES, i * 1000003);
        CHECK_FAILS(access(name, F_OK), ENOENT);
    }
}

/* In another root and without privileges a process asks for 50 000 names of 250 bytes. */
void root_and_user_changed(void)
{
    CHECK_OK(mkdir("prison", 0755));
    run_in_child(ask_for_much, 0, 0);
    CHECK_OK(rmdir("prison"));
}

static void write_as_nobody(void)
{
    become_nobody();
    write_many("home/file");
    append_text("home/file", "the end");
}

/* A process that gives up its privileges writes 300 000 times one byte, and seven at the end. */
void user_changed(void)
{
    CHECK_OK(mkdir("home", 0777));
    CHECK_OK(chmod("home", 0777));
    run_in_child(write_as_nobody, 0, 0);
    CHECK_OK(unlink("home/file"));
    CHECK_OK(rmdir("home"));
}

static void exec_as_nobody(void)
{
    become_nobody();
    pid_t child = fork_child();
    if (child == 0)
        _exit(write_file("home/file"));
    check_exit(child, 0);
    int program = open(self, O_RDONLY);
    if (program < 0) /* the program lies where others may not go */
        _exit(write_file("home/file"));
    execl(self, self, "--child", "write", "home/file", (char *)NULL);
    _exit(1);
}

/* Without privileges a process forks, and becomes another program: five bytes each, from processes that cannot make a
 * file in the folder of the one that made them. */
void user_changed_at_start(void)
{
    CHECK_OK(mkdir("home", 0777));
    CHECK_OK(chmod("home", 0777));
    run_in_child(exec_as_nobody, 0, 0);
    check_and_remove("home/file", "childchild");
    CHECK_OK(rmdir("home"));
}

static int namespace;

static void write_in_namespace(void)
{
    char name[32];
    if (unshare(namespace) != 0)
        CHECK_EQ(errno, EPERM);
    snprintf(name, sizeof name, "file.%x", namespace);
    append_text(name, "before ");
    pid_t child = fork_child(); /* with CLONE_NEWPID, the first one in it */
    if (child == 0) {
        append_text(name, "within");
        _exit(0);
    }
    check_exit(child, 0);
}

/* Processes that go into a namespace of each kind and fork there: twelve or thirteen bytes in two writes each. */
void names_changed(void)
{
    static const int all[] = {CLONE_NEWNS, CLONE_NEWNET, CLONE_NEWUSER, CLONE_NEWPID,
                              CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWUSER};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char name[32];
        namespace = all[i];
        run_in_child(write_in_namespace, 0, 0);
        snprintf(name, sizeof name, "file.%x", namespace);
        check_and_remove(name, "before within");
    }
}

static void hide_folder(void)
{
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0
        || mount("none", getenv("FOLDER"), "tmpfs", 0, NULL) != 0)
        fprintf(stderr, "surroundings: may not mount (errno %d), nothing is hidden\n", errno);
    write_many("file");
}

/* 300 000 writes of one byte after something else has been mounted over the folder $FOLDER. */
void folder_hidden(void)
{
    run_in_child(hide_folder, 0, 0);
    CHECK_OK(unlink("file"));
}

static void remove_folder(void)
{
    CHECK_OK(system("rm -rf \"$FOLDER\""));
    write_many("file");
}

/* 300 000 writes of one byte after the folder $FOLDER has been removed with all that is in it. */
void folder_removed(void)
{
    run_in_child(remove_folder, 0, 0);
    CHECK(access(getenv("FOLDER"), F_OK) != 0);
    CHECK_OK(unlink("file"));
}
