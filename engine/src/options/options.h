/* What the command line asks for. Parsing does no I/O and quotes the value that is wrong. */
#pragma once

#include "base/failure.h"
#include "control/admission.h"
#include "control/request.h"
#include "control/third_party.h"
#include "files/direct.h"
#include "files/list.h"
#include "payload/receive_mode.h"
#include "payload/sending.h"

#include <stdbool.h>
#include <stdint.h>

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
	uint64_t stall_ns;    /* without progress a session ends after that */
	uint64_t report_ns;   /* between lines of progress and of intervals */
	const char *tcp_info; /* path or NULL */
	/* receive */
	const char *bind;
	const char *user;   /* to become, once the port is open; NULL: none */
	uint16_t data_port; /* 0: any free one */
	bool one_off;
	bool no_sync; /* of files */
	enum links_policy links;
	bool log_json;
	struct admission admission;
	uint64_t idle_timeout_ns;
	const char *directory;       /* NULL: no files are taken */
	bool anonymous;              /* from anybody, and to anybody */
	const char *serve_directory; /* NULL: no files are handed out */
	/* send */
	const char *host;
	/* Of the server, or what a client asked of us: both ends keep to it. */
	struct request asked;
	bool protect_given;
	bool files; /* the paths are sent */
	unsigned path_count;
	char *const *paths;
	const char *congestion; /* NULL: the system's default */
	const char *live;
	/* both: where the threads run */
	const char *affinity; /* a list, "auto" or NULL */
	/* send: the way of the data connections (options/path.c); --bind as above */
	const char *device; /* NULL: the route's */
	unsigned mss;       /* 0: the path's */
	bool ipv4;          /* addresses of that family only */
	bool ipv6;
	int family;                  /* AF_UNSPEC: both */
	uint32_t flow_label;         /* of IPv6; 0: the system's */
	uint64_t connect_timeout_ns; /* for each address, and for the data connections */
	/* send: how the bytes are made and handed over (options/payload.c) */
	bool seeded;
};

/* argv[0] is the subcommand. 0, or -1 with the failure set (a usage error). */
int options_parse_receive(int argc, char **argv, struct options *options, struct failure *failure);
/* Options of `send` that a client may give to another host (control/third_party.h). */
const struct third_party_option *options_forwarded(void);

int options_parse_send(int argc, char **argv, struct options *options, struct failure *failure);
int options_parse_get(int argc, char **argv, struct options *options, struct failure *failure);
int options_parse_round_trips(int argc, char **argv, struct options *options,
			      struct failure *failure);
int options_parse_datagrams(int argc, char **argv, struct options *options,
			    struct failure *failure);
/* Defaults that depend on other options, and what options together must be. */
int options_check_server(struct options *options, struct failure *failure);
int options_check_send(struct options *options, struct failure *failure);
/* Whether intervals and tables go to standard output: nothing else does, and nobody said no. */
bool options_tell(const struct options *options);
int options_check_directory(const struct options *options, struct failure *failure);
int options_check_get(struct options *options, struct failure *failure);
int options_check_files(const struct options *options, struct failure *failure);
/* What a request makes a server do that sends; the texts are the request's. */
void options_of_request(const struct request *request, const struct options *server,
			struct options *options);
/* On standard output. */
void options_help_receive(void);
void options_help_send(void);
void options_help_get(void);
void options_help_round_trips(void);
void options_help_datagrams(void);
