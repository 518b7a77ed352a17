/* What people see of a file transfer: a bar on a terminal, a line now and then elsewhere. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress_view {
	uint64_t now_ns;
	uint64_t bytes; /* done, with what was there before */
	uint64_t total_bytes;
	uint64_t files;
	uint64_t total_files;
};

struct progress_line {
	bool terminal;
	unsigned columns;
	bool drawn;
	uint64_t shown_ns;
	uint64_t rate_ns; /* of the last look */
	uint64_t rate_bytes;
	double rate_bps; /* smoothed */
};

/* Looks what standard error is. */
void progress_start(struct progress_line *line);
void progress_show(struct progress_line *line, const struct progress_view *view);
/* Leaves the terminal's line. */
void progress_end(struct progress_line *line);

/* The line itself, cut to `columns` when that is not 0: "42 % [####......] 4.2 of 10.0 GB ...". */
void progress_text(const struct progress_line *line, const struct progress_view *view, char *text,
		   size_t size);
