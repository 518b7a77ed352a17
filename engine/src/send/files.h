/* Files instead of memory: what send_command.c and report.c need of files.c and files_report.c. */
#pragma once

#include "send/send.h"

/* Makes the list; before anything is connected. -1 with the failure set and state->usage. */
int files_prepare(struct send_state *state);
/* The same of paths below an open directory, which stays the caller's: no link leads out of it. */
int files_prepare_below(struct send_state *state, int root, char *const *paths, unsigned count);
/* Of all files of the list. */
uint64_t files_send_bytes(const struct send_state *state);
/* From the barrier to the receiver's result, or to what came instead. */
int files_send(struct send_state *state);
void files_send_release(struct send_state *state);
/* The member "files" of the result; the caller deletes it. */
cJSON *files_send_json(const struct send_state *state);
/* A line for people. */
void files_send_summary(const struct send_state *state);
