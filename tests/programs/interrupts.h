/* What programs share that are interrupted by a timer's signal at any point of their own calls. */
#ifndef INTERRUPTS_H
#define INTERRUPTS_H

#include "common.h"
#include <signal.h>
#include <time.h>

enum { BETWEEN_INTERRUPTS_NS = 300000 };

/* From now on until stop_interrupts the handler interrupts this process, as SIGUSR1. */
static inline timer_t start_interrupts(void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec interval = {{0, BETWEEN_INTERRUPTS_NS}, {0, BETWEEN_INTERRUPTS_NS}};
    timer_t timer;
    CHECK_OK(sigaction(SIGUSR1, &action, NULL));
    CHECK_OK(timer_create(CLOCK_MONOTONIC, &event, &timer));
    CHECK_OK(timer_settime(timer, 0, &interval, NULL));
    return timer;
}

static inline void stop_interrupts(timer_t timer)
{
    CHECK_OK(timer_delete(timer));
    CHECK(signal(SIGUSR1, SIG_IGN) != SIG_ERR);
}

#endif
