/* What the parts of failures share. */
#ifndef CASES_H
#define CASES_H

#include "../processes.h"

/* Tests: one function per way in which tracers have broken programs or lost what they did. */
void handler_amid_streams(void);
void handler_on_small_stack(void);
void forks_while_writing(void);
void thousands_of_threads(void);
void smallest_stacks(void);
void last_words_of_thread(void);
void first_thread_ends_first(void);
void writes_then_exec(void);
void environment_cleared(void);
void root_changed(void);
void daemon_with_parent(void);
void vfork_dup2_exec(void);
void standard_streams_closed(void);
void descriptors_listed(void);
void many_reads(void);
void signal_masks(void);
void handlers_asked_for(void);
void smallest_signal_stack(void);
void overflow_caught(void);
void forks_in_handler(void);
void exec_in_handler(void);
void handlers_in_waiting_calls(void);
void cancelled_everywhere(void);
void cancelled_amid_writes(void);
void forks_in_threads(void);
void fork_handlers(void);
void forks_unseen(void);
void clones_in_shared_memory(void);
void daemons_that_close_all(void);
void sockets_across_exec(void);
void threads_at_once(void);
void many_opens(void);
void many_descriptors(void);
void detached_threads(void);
void borrowed_memory(void);
void errno_of_everything(void);
void descriptors_of_ones_own(void);
void descriptors_used_up(void);
void signals_at_ends(void);
void exits_amid_calls(void);
void fails_to_exec_without_rights(void);
void forks_keep_memory(void);
void forks_amid_calls(void);
void jumps_to_deeper_calls(void);
void handlers_above_coroutines(void);
void polls_in_handlers(void);
void handlers_that_nest(void);
void memory_shared_at_once(void);
void without_counter(void);
void texts_unread(void);
void paths_written_over(void);
void parts_given_back(void);
void times_written_over(void);
void callers_of_numbers(void);
void failures_in_prison(void);
void environment_torn(void);
void vfork_with_environment(void);
void filter_that_lets_all(void);
void filter_against_questions(void);

/* The program file itself, for those parts that start it again as `failures --child WHAT`. */
extern char self[4096];

/* `--child` bodies. */
int under_closed_streams(void);
int list_descriptors(void);
int with_mask(void);
int with_many_descriptors(void);
int answer(const char *number);

#endif
