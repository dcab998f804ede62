/* Threads that hand descriptors to each other: what one opens others use, duplicate and close, and its number is given to
 * another file while the close is under way. Each result is known: a replay in another order has others.
 */
#include "common.h"
#include <fcntl.h>
#include <pthread.h>

enum { THREADS = 4, FILES = 12, ROUNDS = 20, BLOCK = 512 };

static void each_thread(void *(*routine)(void *))
{
    pthread_t threads[THREADS];
    for (intptr_t number = 0; number < THREADS; number++)
        CHECK(pthread_create(&threads[number], NULL, routine, (void *)number) == 0);
    for (int number = 0; number < THREADS; number++)
        CHECK(pthread_join(threads[number], NULL) == 0);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t passed = PTHREAD_COND_INITIALIZER;

/* ---- a pool: any thread does the next step of any file ----------------------------------------------------- */

static struct file {
    int name, fd, step, is_taken;
} files[FILES];
static int files_done;

static void next_step(struct file *file)
{
    char name[32], block[BLOCK] = {0};
    snprintf(name, sizeof name, "pool-%d", file->name);
    off_t at = (off_t)(file->step / 4) * BLOCK;
    switch (file->step % 4) {
    case 0:
        file->fd = open(name, O_RDWR | O_CREAT, 0644);
        CHECK(file->fd >= 0);
        break;
    case 1:
        CHECK(pwrite(file->fd, block, BLOCK, at) == BLOCK);
        break;
    case 2:
        CHECK(pread(file->fd, block, BLOCK, 0) == BLOCK && fsync(file->fd) == 0);
        break;
    default:
        CHECK(close(file->fd) == 0);
    }
    file->step++;
}

/* Another file each time, and seldom the one it had before. */
static struct file *taken(int *latest)
{
    for (int tried = 1; tried <= FILES; tried++) {
        struct file *file = &files[(*latest + tried) % FILES];
        if (!file->is_taken && file->step < 4 * ROUNDS) {
            *latest = file->name;
            file->is_taken = 1;
            return file;
        }
    }
    return NULL;
}

static void *works(void *argument)
{
    int latest = (int)(intptr_t)argument * 3;
    pthread_mutex_lock(&lock);
    while (files_done < FILES) {
        struct file *file = taken(&latest);
        if (file == NULL) {
            pthread_cond_wait(&passed, &lock);
            continue;
        }
        pthread_mutex_unlock(&lock);
        next_step(file);
        pthread_mutex_lock(&lock);
        file->is_taken = 0;
        files_done += file->step == 4 * ROUNDS;
        pthread_cond_broadcast(&passed);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* ---- turns: one descriptor, one position -------------------------------------------------------------------- */

enum { TURNS = 100 };

static int turn, shared, duplicate;

/* Reads of rising length, so that every order but this one has other lengths at the end of the file. */
static void take_turn(int number)
{
    char bytes[TURNS];
    if (number == 0) {
        shared = open("turns", O_RDWR | O_CREAT | O_TRUNC, 0644);
        CHECK(shared >= 0 && ftruncate(shared, TURNS * (TURNS - 1) / 2 - 7) == 0);
        duplicate = dup(shared);
        CHECK(duplicate >= 0);
    } else if (number < TURNS) {
        ssize_t length = number < TURNS - 1 ? number : number - 7;
        CHECK(read(number % 2 ? shared : duplicate, bytes, (size_t)number) == length);
    } else if (number == TURNS) {
        CHECK(close(duplicate) == 0);
    } else if (number == TURNS + 1) {
        CHECK(lseek(shared, -10, SEEK_END) == TURNS * (TURNS - 1) / 2 - 17);
    } else if (number == TURNS + 2) {
        CHECK(read(shared, bytes, TURNS) == 10);
    } else {
        CHECK(close(shared) == 0);
    }
}

static void *takes_turns(void *argument)
{
    int mine = (int)(intptr_t)argument;
    for (int number = mine; number < TURNS + 4; number += THREADS) {
        pthread_mutex_lock(&lock);
        while (turn != number)
            pthread_cond_wait(&passed, &lock);
        take_turn(number);
        turn++;
        pthread_cond_broadcast(&passed);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void)
{
    for (int number = 0; number < FILES; number++)
        files[number].name = number;
    each_thread(works);
    each_thread(takes_turns);
    return 0;
}
