/* What a server lets clients have. Pure: no I/O, no clock. */
#pragma once

#include "control/request.h"

struct admission {
	unsigned clients; /* served at once */
	unsigned queue;   /* waiting */
	unsigned per_address;
	unsigned max_streams;
	uint64_t max_rate_bps;     /* over all streams; 0: any */
	uint64_t max_duration_ns;  /* 0: any */
	uint64_t max_window_bytes; /* of a stream; 0: any */
	uint64_t windows_bytes;    /* of all streams of a transfer together; 0: any */
	uint64_t min_rate_bps;     /* below it a transfer is one that has come to rest */
	uint64_t max_file_bytes;   /* of a transfer of files, together; 0: any */
	uint64_t max_files;        /* entries of such a transfer; 0: any */
	unsigned modes;            /* a bit per receive_mode */
	enum protect_mode protect; /* at least */
	bool files;                /* are taken */
	bool serves;               /* files are handed out */
	bool sends;                /* memory, to whoever asks */
	bool third_party;
};

enum admission_verdict {
	ADMISSION_SERVE,
	ADMISSION_QUEUE,
	ADMISSION_FULL, /* it may wait if another one gives way */
	ADMISSION_REFUSE,
};

/* `serving` and `waiting` clients are there already. The failure is the reason to refuse. */
enum admission_verdict admission_decide(const struct admission *admission,
					const struct request *request, unsigned serving,
					unsigned waiting, struct failure *failure);
/* 0, or -1: more than this host lets a transfer have, at whichever end of it this host is. */
int admission_terms(const struct admission *admission, const struct request *request,
		    struct failure *failure);
/* 0, or -1: memory that comes is not to be read in that mode. */
int admission_mode(const struct admission *admission, enum receive_mode mode,
		   struct failure *failure);
/*
 * When a session that began at `start_ns` is ended, whatever its client says: after
 * max_duration_ns, and as long as round trips of one that keeps to it may take. UINT64_MAX: never.
 */
#define ADMISSION_GRACE_NS (5 * UINT64_C(1000000000))
uint64_t admission_end_ns(const struct admission *admission, uint64_t start_ns);
/* Then the failure says so. */
int admission_over(const struct admission *admission, struct failure *failure);
/* The ceiling of each stream's sending rate; 0: none. */
uint64_t admission_pacing_bps(const struct admission *admission, unsigned streams);
/* "discard,memory": which modes; false when one is unknown. */
bool admission_modes_parse(const char *text, unsigned *modes);
