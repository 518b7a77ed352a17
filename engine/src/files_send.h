/* Files instead of memory: what send_command.c and send_report.c need of files_send.c. */
#ifndef LANDSPEED_FILES_SEND_H
#define LANDSPEED_FILES_SEND_H

#include "send.h"

/* Makes the list; before anything is connected. -1 with the failure set and state->usage. */
int files_prepare(struct send_state *state);
/* From the barrier to the receiver's result, or to what came instead. */
int files_send(struct send_state *state);
void files_send_release(struct send_state *state);
/* The member "files" of the result; the caller deletes it. */
cJSON *files_send_json(const struct send_state *state);
/* A line for people. */
void files_send_summary(const struct send_state *state);

#endif
