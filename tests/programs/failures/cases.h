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
void writes_then_exec(void);
void environment_cleared(void);
void root_changed(void);
void daemon_with_parent(void);
void vfork_dup2_exec(void);
void standard_streams_closed(void);
void descriptors_listed(void);
void many_reads(void);

/* The program file itself, for those parts that start it again as `failures --child WHAT`. */
extern char self[4096];

/* `--child` bodies. */
int under_closed_streams(void);
int list_descriptors(void);

#endif
