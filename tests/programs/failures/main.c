/* failures: what real programs do and tracers have failed at, beyond the surfaces.
 *
 * Each part verifies itself and comes to an end: an alarm ends the program after a minute. The parts work in a folder
 * of their own, which is empty again at the end of each. Where a test is to count in the trace what a part has done,
 * the numbers stand in the part's comment, or the part ends with a call whose result is the number.
 *
 *   failures [--dir PATH] [part ...]
 */
#include "cases.h"
#include "../parts.h"

enum { SECONDS_ALLOWED = 60 };

char self[4096];

static const struct part parts[] = {
    {"handler-streams", handler_amid_streams},
    {"handler-stack", handler_on_small_stack},
    {"forks", forks_while_writing},
    {"threads", thousands_of_threads},
    {"stacks", smallest_stacks},
    {"last-words", last_words_of_thread},
    {"first-thread-ends", first_thread_ends_first},
    {"exec", writes_then_exec},
    {"clearenv", environment_cleared},
    {"chroot", root_changed},
    {"daemon", daemon_with_parent},
    {"vfork", vfork_dup2_exec},
    {"closed-streams", standard_streams_closed},
    {"descriptors", descriptors_listed},
    {"reads", many_reads},
    {"masks", signal_masks},
    {"handlers", handlers_asked_for},
    {"smallest-signal-stack", smallest_signal_stack},
    {"overflow", overflow_caught},
    {"handler-forks", forks_in_handler},
    {"handler-exec", exec_in_handler},
    {"handler-in-calls", handlers_in_waiting_calls},
    {"cancel", cancelled_everywhere},
    {"cancel-writes", cancelled_amid_writes},
    {"thread-forks", forks_in_threads},
    {"fork-handlers", fork_handlers},
    {"unseen-forks", forks_unseen},
    {"shared-memory", clones_in_shared_memory},
    {"daemons", daemons_that_close_all},
    {"sockets", sockets_across_exec},
    {"threads-at-once", threads_at_once},
    {"opens", many_opens},
    {"many-descriptors", many_descriptors},
    {"detached", detached_threads},
    {"borrowed", borrowed_memory},
    {"errno", errno_of_everything},
    {"own-descriptors", descriptors_of_ones_own},
    {"descriptors-used-up", descriptors_used_up},
    {"signals-at-ends", signals_at_ends},
    {"exits-amid-calls", exits_amid_calls},
    {"exec-without-rights", fails_to_exec_without_rights},
    {"forks-keep-memory", forks_keep_memory},
    {"forks-amid-calls", forks_amid_calls},
    {"jumps-to-deeper", jumps_to_deeper_calls},
    {"coroutine", handlers_above_coroutines},
    {"polls-in-handlers", polls_in_handlers},
    {"handlers-nest", handlers_that_nest},
    {"memory-shared", memory_shared_at_once},
    {"without-counter", without_counter},
    {"texts-unread", texts_unread},
    {"paths-written-over", paths_written_over},
    {"parts-given-back", parts_given_back},
    {"times-written-over", times_written_over},
    {"numbers-callers", callers_of_numbers},
    {"prison", failures_in_prison},
    {"torn-environment", environment_torn},
    {"vfork-environment", vfork_with_environment},
    {"filter", filter_that_lets_all},
    {"filter-questions", filter_against_questions},
    {NULL, NULL},
};

static int child_main(const char *what, char **words)
{
    if (strcmp(what, "closed-streams") == 0)
        return under_closed_streams();
    if (strcmp(what, "descriptors") == 0)
        return list_descriptors();
    if (strcmp(what, "print") == 0 && words[0])
        return puts(words[0]) < 0;
    if (strcmp(what, "append") == 0 && words[0] && words[1]) {
        append_text(words[0], words[1]);
        return 0;
    }
    if (strcmp(what, "mask") == 0)
        return with_mask();
    if (strcmp(what, "many-descriptors") == 0)
        return with_many_descriptors();
    if (strcmp(what, "answer") == 0 && words[0])
        return answer(words[0]);
    fprintf(stderr, "failures: no child does this\n");
    return 2;
}

int main(int argc, char **argv)
{
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    CHECK(length > 0);
    if (argc > 2 && strcmp(argv[1], "--child") == 0)
        return child_main(argv[2], argv + 3);
    alarm(SECONDS_ALLOWED);
    return parts_main(argc, argv, "failures", parts);
}
