/* Files instead of memory: what receive_command.c needs of files.c. */
#pragma once

#include "receive/receive.h"

/* Takes files until all are there or something ends it; fills the report. */
int files_receive(struct receive_state *state);
