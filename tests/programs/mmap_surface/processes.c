/* Mappings in forked children, at the end of a process image, in threads, and more of them than can be followed. */
#include "../confined.h"
#include "surface.h"
#include <pthread.h>

static void wait_for(pid_t child)
{
    int status;
    CHECK(child > 0);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
}

/* Page 1 by the parent; page 7 by one child, none by another. */
void forked(void)
{
    int fd = new_file("forked");
    char *memory = map(fd, WHOLE, PROT_READ | PROT_WRITE, MAP_SHARED);
    touch(memory, 1);
    pid_t child = fork();
    if (child == 0) {
        touch(memory, 7);
        _exit(0);
    }
    wait_for(child);
    child = fork();
    if (child == 0)
        _exit(0);
    wait_for(child);
    CHECK_EQ(look(memory, 7), 'w');
    CHECK_OK(munmap(memory, WHOLE));
    remove_file(fd, "forked");
}

/* Page 14, by a process that goes on as another program. */
void becomes_program(void)
{
    int fd = new_file("becomes-program");
    pid_t child = fork();
    if (child == 0) {
        char *memory = map(fd, WHOLE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
        touch(memory, 14);
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    wait_for(child);
    remove_file(fd, "becomes-program");
}

/* Page 15, unmapped where hardly a system call is allowed. */
void confined(void)
{
    int fd = new_file("confined");
    pid_t child = fork();
    if (child == 0) {
        char *memory = map(fd, WHOLE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
        touch(memory, 15);
        allow_only(SYS_mmap, SYS_munmap, SYS_exit_group);
        CHECK_OK(munmap(memory, WHOLE));
        touch(map(fd, WHOLE, PROT_READ | PROT_WRITE, MAP_PRIVATE), 16);
        _exit(0);
    }
    wait_for(child);
    remove_file(fd, "confined");
}

enum { THREADS = 4, ROUNDS = 100 };

/* Page i of every mapping, by thread i. */
static void *map_often(void *number)
{
    int fd = open("threads", O_RDWR);
    CHECK(fd >= 0);
    for (int round = 0; round < ROUNDS; round++) {
        char *memory = map(fd, WHOLE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
        touch(memory, (int)(intptr_t)number);
        CHECK_OK(munmap(memory, WHOLE));
    }
    CHECK_OK(close(fd));
    return NULL;
}

void threads(void)
{
    pthread_t all[THREADS];
    int fd = new_file("threads");
    for (intptr_t i = 0; i < THREADS; i++)
        CHECK_OK(pthread_create(&all[i], NULL, map_often, (void *)i));
    for (int i = 0; i < THREADS; i++)
        CHECK_OK(pthread_join(all[i], NULL));
    remove_file(fd, "threads");
}

/* More mappings at a time than the recorder follows, then a further one, when there is room again. */
void too_many(void)
{
    enum { MANY = 5000 };
    static char *all[MANY];
    int fd = new_file("too-many");
    for (int i = 0; i < MANY; i++)
        all[i] = map(fd, PAGE, PROT_READ, MAP_SHARED);
    for (int i = 0; i < MANY; i++)
        CHECK_OK(munmap(all[i], PAGE));
    char *memory = map(fd, WHOLE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    touch(memory, 17);
    CHECK_OK(munmap(memory, WHOLE));
    remove_file(fd, "too-many");
}

/* Page 18 of a file that is still mapped at the end. */
void left_mapped(void)
{
    int fd = new_file("left-mapped");
    char *memory = map(fd, WHOLE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    touch(memory, 18);
    remove_file(fd, "left-mapped");
}
