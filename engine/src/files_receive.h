/* Files instead of memory: what receive_command.c and receive_session.c need of files_receive.c. */
#ifndef LANDSPEED_FILES_RECEIVE_H
#define LANDSPEED_FILES_RECEIVE_H

#include "receive.h"

/* Takes files until all are there or something ends it; fills the report. */
int files_receive(struct receive_state *state);

#endif
