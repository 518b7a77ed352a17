/* What the command line asks for. Parsing does no I/O and quotes the value that is wrong. */
#ifndef LANDSPEED_OPTIONS_H
#define LANDSPEED_OPTIONS_H

#include "failure.h"
#include "sending.h"

#include <stdbool.h>
#include <stdint.h>

/* Largest window TCP can announce: 65535 << 14 rounds up to 1 GiB in every setsockopt. */
#define WINDOW_LIMIT_BYTES (UINT64_C(1) << 30)

/* Whether files are read and written past the page cache (O_DIRECT). */
enum direct_policy { DIRECT_AUTO, DIRECT_ON, DIRECT_OFF };

/* Whether symbolic links are made that lead out of the directory; none is ever followed. */
enum links_policy { LINKS_INSIDE, LINKS_ALL, LINKS_NONE };

enum receive_mode {
	RECEIVE_DISCARD, /* MSG_TRUNC: the kernel drops the payload, nothing is copied */
	RECEIVE_MEMORY,  /* copied into user memory: delivery in the sense of a record */
	RECEIVE_VERIFY,  /* the same, and every byte is checked */
	RECEIVE_MODES
};

/* No code point was asked for: they end at 63. */
#define DSCP_NONE 64

/* A seed crosses JSON unchanged. */
#define SEED_LIMIT (UINT64_C(1) << 53)

/* What a server lets clients have. */
struct admission {
	unsigned clients; /* served at once */
	unsigned queue;   /* waiting */
	unsigned per_address;
	unsigned max_streams;
	uint64_t max_rate_bps;    /* over all streams; 0: any */
	uint64_t max_duration_ns; /* 0: any */
	unsigned modes;           /* a bit per receive_mode */
	bool files;
	bool third_party;
};

struct options {
	/* both ends */
	uint16_t port;
	bool help;
	bool quiet;                /* no tables and intervals for people */
	enum direct_policy direct; /* of files */
	uint64_t interval_ns;
	const char *samples;  /* path or NULL */
	const char *json;     /* path, "-" or NULL */
	const char *key;      /* path or NULL */
	uint64_t report_ns;   /* between lines of progress and of intervals */
	const char *tcp_info; /* path or NULL */
	/* receive */
	const char *bind;
	uint16_t data_port; /* 0: any free one */
	bool one_off;
	bool no_sync; /* of files */
	enum links_policy links;
	bool log_json;
	struct admission admission;
	uint64_t idle_timeout_ns;
	const char *directory; /* NULL: no files are taken */
	/* send */
	const char *host;
	unsigned streams;
	bool window_exact; /* the receiver offers window_bytes and no more */
	bool files;        /* the paths are sent */
	unsigned path_count;
	enum receive_mode receive;
	char *const *paths;
	uint64_t window_bytes;  /* 0: autotuning */
	const char *congestion; /* NULL: the system's default */
	uint64_t bytes;         /* 0: no limit */
	uint64_t duration_ns;   /* 0: no limit */
	const char *live;
	uint64_t pacing_bps; /* 0: not paced */
	uint64_t stagger_ns;
	/* both: where the threads run */
	const char *affinity; /* a list, "auto" or NULL */
	/* send: the way of the data connections (options_path.c); --bind as above */
	const char *device; /* NULL: the route's */
	unsigned dscp;      /* DSCP_NONE: the system's */
	unsigned mss;       /* 0: the path's */
	bool mptcp;
	uint64_t pacing_total_bps; /* 0: none */
	uint64_t notsent_bytes;    /* 0: the system's */
	uint64_t omit_ns;
	/* send: how the bytes are made and handed over (options_payload.c) */
	enum send_way send_way;
	bool seeded;
	uint64_t payload_seed;
};

/* argv[0] is the subcommand. 0, or -1 with the failure set (a usage error). */
int options_parse_receive(int argc, char **argv, struct options *options, struct failure *failure);
int options_parse_send(int argc, char **argv, struct options *options, struct failure *failure);
/* Defaults that depend on other options, and what options together must be. */
int options_check_server(struct options *options, struct failure *failure);
int options_check_send(struct options *options, struct failure *failure);
/* Whether intervals and tables go to standard output: nothing else does, and nobody said no. */
bool options_tell(const struct options *options);
int options_check_files(const struct options *options, struct failure *failure);
/* On standard output. */
void options_help_receive(void);
void options_help_send(void);

const char *receive_mode_name(enum receive_mode mode);
/* Does the payload reach the receiving application's memory? What counts for a record. */
bool receive_mode_delivers(enum receive_mode mode);
bool receive_mode_parse(const char *name, enum receive_mode *mode);

#endif
