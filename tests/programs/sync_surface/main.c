/* sync_surface: how threads and processes wait for each other, and the signals they send, await and handle.
 *
 * Each part is a family of calls, verifies every result, and makes the same waits and wakes each time: a lock is held
 * until its words say that the other thread waits. An alarm ends the program after a minute, as a deadlock would
 * otherwise keep it. `many-handlers` sets more handlers than a recorder has places for.
 *
 *   sync_surface [--dir PATH] [part ...]
 */
#include "surface.h"
#include "../parts.h"

enum { SECONDS_ALLOWED = 60 };

static const struct part parts[] = {
    {"free", free_locks},
    {"mutex", mutexes},
    {"mutex-timed", mutexes_in_time},
    {"condition", conditions},
    {"cancel", cancelled_waits},
    {"rwlock", rwlocks},
    {"barrier", barriers},
    {"semaphore", semaphores},
    {"spin", spin_locks},
    {"c11", c11_threads},
    {"sysv-semaphore", sysv_semaphores},
    {"sysv", sysv_memory_and_messages},
    {"queue", posix_queues},
    {"named-semaphore", named_semaphores},
    {"sent", signals_sent},
    {"awaited", signals_awaited},
    {"timers", timers},
    {"interrupted-sleeps", interrupted_sleeps},
    {"pause", pausing},
    {"handlers", handlers},
    {"small-stacks", small_stacks},
    {"narrow-stacks", narrow_stacks},
    {"round-trips", round_trips},
    {"faults", faults},
    {"jumps", jumps_out_of_writes},
    {"timed-jumps", jumps_by_timer},
    {"children", handlers_in_children},
    {"deadly", deadly_signal},
    {"many-handlers", many_handlers},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    alarm(SECONDS_ALLOWED);
    return parts_main(argc, argv, "sync_surface", parts);
}
