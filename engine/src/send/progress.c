#include "send/progress.h"

#include "base/clock.h"
#include "base/output.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define BAR_CELLS   24
#define LINES_EVERY (5 * NS_PER_S)
/* Share of a new second's rate in the one that is shown. */
#define SMOOTHING 0.3

void progress_start(struct progress_line *line)
{
	struct winsize window = {0};
	*line = (struct progress_line){.terminal = isatty(STDERR_FILENO) == 1};
	if (line->terminal && ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0)
		line->columns = window.ws_col;
}

static void rate_update(struct progress_line *line, const struct progress_view *view)
{
	uint64_t elapsed_ns = view->now_ns - line->rate_ns;
	if (line->rate_ns != 0 && elapsed_ns < NS_PER_S)
		return;
	if (line->rate_ns != 0) {
		double rate = (double)(view->bytes - line->rate_bytes) * 8e9 / (double)elapsed_ns;
		line->rate_bps = line->rate_bps == 0
				     ? rate
				     : SMOOTHING * rate + (1 - SMOOTHING) * line->rate_bps;
	}
	line->rate_ns = view->now_ns;
	line->rate_bytes = view->bytes;
}

static void left_text(const struct progress_line *line, const struct progress_view *view,
		      char *text, size_t size)
{
	double left_bits = (double)(view->total_bytes - view->bytes) * 8;
	if (line->rate_bps < 1) {
		(void)snprintf(text, size, "?");
		return;
	}
	double left_s = left_bits / line->rate_bps;
	uint64_t seconds = left_s < 1e9 ? (uint64_t)(left_s + 0.5) : 999999999;
	if (seconds < 3600)
		(void)snprintf(text, size, "%" PRIu64 ":%02" PRIu64, seconds / 60, seconds % 60);
	else
		(void)snprintf(text, size, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, seconds / 3600,
			       seconds / 60 % 60, seconds % 60);
}

void progress_text(const struct progress_line *line, const struct progress_view *view, char *text,
		   size_t size)
{
	char left[32];
	char bar[BAR_CELLS + 1];
	double share =
	    view->total_bytes != 0 ? (double)view->bytes / (double)view->total_bytes : 1.0;
	unsigned filled = (unsigned)(share * BAR_CELLS);
	memset(bar, '.', BAR_CELLS);
	memset(bar, '#', filled < BAR_CELLS ? filled : BAR_CELLS);
	bar[BAR_CELLS] = '\0';
	left_text(line, view, left, sizeof(left));
	int length = snprintf(
	    text, size,
	    "%3.0f %% [%s] %.3f of %.3f GB, %" PRIu64 " of %" PRIu64 " files, %.3f Gbit/s, %s left",
	    share * 100, bar, (double)view->bytes / 1e9, (double)view->total_bytes / 1e9,
	    view->files, view->total_files, line->rate_bps / 1e9, left);
	if (length > 0 && line->columns > 1 && (size_t)length >= line->columns &&
	    line->columns <= size)
		text[line->columns - 1] = '\0';
}

void progress_show(struct progress_line *line, const struct progress_view *view)
{
	char text[256];
	rate_update(line, view);
	if (line->shown_ns == 0 && !line->terminal)
		line->shown_ns = view->now_ns; /* the first line after the first interval */
	if (!line->terminal && view->now_ns - line->shown_ns < LINES_EVERY)
		return;
	line->shown_ns = view->now_ns;
	progress_text(line, view, text, sizeof(text));
	if (!line->terminal) {
		output_note("%s", text);
		return;
	}
	(void)fprintf(stderr, "\r%s\x1b[K", text);
	(void)fflush(stderr);
	line->drawn = true;
}

void progress_end(struct progress_line *line)
{
	if (line->drawn)
		(void)fputc('\n', stderr);
	line->drawn = false;
}
