/* Takes processors away from what runs beside it: so many threads that only compute, until the program is ended.
 *
 *   load THREADS      prints a line when all of them run; ends by itself after ten minutes
 */
#include "../common.h"
#include <pthread.h>

enum { SECONDS_ALLOWED = 600 };

static pthread_barrier_t running;

static void *compute(void *argument)
{
    pthread_barrier_wait(&running);
    while (opaque(1))
        work(1000);
    return argument;
}

int main(int argc, char **argv)
{
    int threads = argc == 2 ? atoi(argv[1]) : 0;
    REQUIRE(threads > 0);
    alarm(SECONDS_ALLOWED);
    CHECK_OK(pthread_barrier_init(&running, NULL, (unsigned)threads + 1));
    for (int i = 0; i < threads; i++) {
        pthread_t thread;
        CHECK_OK(pthread_create(&thread, NULL, compute, NULL));
    }
    pthread_barrier_wait(&running);
    puts("running");
    fflush(stdout);
    pause();
    return 0;
}
