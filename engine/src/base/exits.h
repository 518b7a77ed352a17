/* Exit statuses besides 0: done. */
#pragma once

#define EXIT_FAILED 1
#define EXIT_USAGE  2
/* Of a session's process only: the server's signal cut it short. */
#define EXIT_INTERRUPTED 3
