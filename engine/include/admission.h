/* What a server lets clients have. Pure: no I/O, no clock. */
#ifndef LANDSPEED_ADMISSION_H
#define LANDSPEED_ADMISSION_H

#include "message.h"
#include "net.h"

enum admission_verdict { ADMISSION_SERVE, ADMISSION_QUEUE, ADMISSION_REFUSE };

/* `serving` and `waiting` clients are there already. The failure is the reason to refuse. */
enum admission_verdict admission_decide(const struct admission *admission,
					const struct request *request, unsigned serving,
					unsigned waiting, struct failure *failure);
/* The ceiling of each stream's sending rate; 0: none. */
uint64_t admission_pacing_bps(const struct admission *admission, unsigned streams);
/* "discard,memory": which modes; false when one is unknown. */
bool admission_modes_parse(const char *text, unsigned *modes);
/* The same host, whatever the port. */
bool admission_same_host(const struct address *a, const struct address *b);

#endif
