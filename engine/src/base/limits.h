/* How much there may be of something, for all rooms. */
#pragma once

/* Data connections of one session. */
#define STREAMS_LIMIT 128
