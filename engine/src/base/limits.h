/* How much there may be of something, for all rooms. */
#ifndef LANDSPEED_BASE_LIMITS_H
#define LANDSPEED_BASE_LIMITS_H

/* Data connections of one session. */
#define STREAMS_LIMIT 128

#endif
