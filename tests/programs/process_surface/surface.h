/* What the parts of process_surface share. */
#ifndef SURFACE_H
#define SURFACE_H

#include "../processes.h"

/* Tests: one function per way in which processes, threads and signals come and go. */
void forking(void);
void vforking(void);
void spawning(void);
void shell_commands(void);
void waiting(void);
void daemon_style(void);
void exec_chain(void);
void exec_failures(void);
void exec_from_thread(void);
void ways_to_end(void);
void threads_join(void);
void threads_detach(void);
void threads_cancel(void);
void threads_short(void);
void main_leaves_first(void);
void fork_from_thread(void);
void writing_handler(void);
void jumping_handler(void);
void closing_all(void);
void three_descriptors(void);
void no_descriptor_left(void);

/* The program file itself, for those parts that start it again as `process_surface --child WHAT ...`. */
extern char self[4096];

/* What the program does as `--child WHAT ...`; returns its exit code. */
int child_main(char **words);

/* `--child` bodies that belong to a part in another file. */
int chain_link(int left);
int under_three_descriptors(void);
int with_no_descriptor_left(void);

#endif
