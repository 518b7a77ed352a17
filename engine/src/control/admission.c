#include "control/admission.h"

#include "base/clock.h"

#include <string.h>

/* They last as long as they last: the receiver itself ends them, to be resumed. */
static int files_check(const struct admission *admission, const struct request *request,
		       struct failure *failure)
{
	if (request_server_sends(request))
		return admission->serves
			   ? 0
			   : failure_set(failure, "this server hands out no files: start it with "
						  "--serve-directory DIR");
	if (!admission->files)
		return failure_set(failure,
				   "this receiver takes no files: start it with --directory DIR");
	if (admission->max_file_bytes != 0 && request->bytes > admission->max_file_bytes)
		return failure_set(
		    failure, "this receiver takes %llu bytes of files in a transfer, not %llu",
		    (unsigned long long)admission->max_file_bytes,
		    (unsigned long long)request->bytes);
	return 0;
}

int admission_terms(const struct admission *admission, const struct request *request,
		    struct failure *failure)
{
	unsigned streams = request_connections(request);
	if (request->protect < admission->protect)
		return failure_set(failure, "this receiver wants --protect %s, not %s",
				   protect_mode_name(admission->protect),
				   protect_mode_name(request->protect));
	if (streams > admission->max_streams)
		return failure_set(failure, "this receiver allows %u stream%s, not %u",
				   admission->max_streams, admission->max_streams == 1 ? "" : "s",
				   streams);
	if (admission->max_window_bytes != 0 && request->window_bytes > admission->max_window_bytes)
		return failure_set(failure, "this receiver allows a window of %llu bytes, not %llu",
				   (unsigned long long)admission->max_window_bytes,
				   (unsigned long long)request->window_bytes);
	if (admission->windows_bytes != 0 &&
	    request->window_bytes > admission->windows_bytes / streams)
		return failure_set(failure,
				   "this receiver has windows of %llu bytes for all streams of a "
				   "client without a key, not %llu each: its --max-window or its "
				   "tcp_mem changes that",
				   (unsigned long long)admission->windows_bytes,
				   (unsigned long long)request->window_bytes);
	return 0;
}

int admission_mode(const struct admission *admission, enum receive_mode mode,
		   struct failure *failure)
{
	return (admission->modes >> mode & 1U) != 0
		   ? 0
		   : failure_set(failure, "this receiver does not allow --receive %s",
				 receive_mode_name(mode));
}

static int request_check(const struct admission *admission, const struct request *request,
			 struct failure *failure)
{
	if (request->kind == REQUEST_THIRD_PARTY)
		return admission->third_party
			   ? 0
			   : failure_set(failure, "this host sends for nobody: start it with "
						  "--third-party");
	if (admission_terms(admission, request, failure) != 0)
		return -1;
	if (request->kind == REQUEST_FILES)
		return files_check(admission, request, failure);
	if (request_server_sends(request) && !admission->sends)
		return failure_set(failure, "this server sends nothing: start it with --may-send");
	if (request->kind == REQUEST_ROUND_TRIPS && !admission->sends)
		return failure_set(failure, "this server answers nothing: start it with "
					    "--may-send");
	if (request->kind == REQUEST_DATAGRAMS && admission->max_rate_bps != 0 &&
	    request->probe.rate_bps > admission->max_rate_bps)
		return failure_set(failure, "this receiver allows %llu bit/s, not %llu",
				   (unsigned long long)admission->max_rate_bps,
				   (unsigned long long)request->probe.rate_bps);
	if (request->kind == REQUEST_MEMORY && request_client_sends(request) &&
	    admission_mode(admission, request->receive, failure) != 0)
		return -1;
	if (admission->max_duration_ns != 0 &&
	    (request->duration_ns == 0 ||
	     request->duration_ns + request->omit_ns > admission->max_duration_ns))
		return failure_set(failure, "this receiver allows %.3f s: ask for --time %.3f",
				   (double)admission->max_duration_ns / 1e9,
				   (double)admission->max_duration_ns / 1e9);
	return 0;
}

enum admission_verdict admission_decide(const struct admission *admission,
					const struct request *request, unsigned serving,
					unsigned waiting, struct failure *failure)
{
	if (request_check(admission, request, failure) != 0)
		return ADMISSION_REFUSE;
	/* Whoever waits already comes first. */
	if (serving < admission->clients && waiting == 0)
		return ADMISSION_SERVE;
	if (waiting < admission->queue)
		return ADMISSION_QUEUE;
	if (admission->clients == 1 && admission->queue == 0)
		(void)failure_set(failure, "the receiver is busy with another transfer");
	else
		(void)failure_set(failure,
				  "the receiver is busy with %u transfers, and %u wait already",
				  serving, waiting);
	return admission->queue != 0 ? ADMISSION_FULL : ADMISSION_REFUSE;
}

uint64_t admission_end_ns(const struct admission *admission, uint64_t start_ns)
{
	return admission->max_duration_ns != 0
		   ? start_ns + admission->max_duration_ns + ADMISSION_GRACE_NS
		   : UINT64_MAX;
}

int admission_over(const struct admission *admission, struct failure *failure)
{
	return failure_set(failure, "the client did not end within the %.3f s that it may have",
			   (double)admission->max_duration_ns / 1e9);
}

uint64_t admission_pacing_bps(const struct admission *admission, unsigned streams)
{
	uint64_t share = admission->max_rate_bps / streams;
	/* The kernel takes bytes per second. */
	return admission->max_rate_bps == 0 || share >= 8 ? share : 8;
}

bool admission_modes_parse(const char *text, unsigned *modes)
{
	char word[16];
	unsigned found = 0;
	while (*text != '\0') {
		enum receive_mode mode;
		size_t length = strcspn(text, ",");
		if (length == 0 || length >= sizeof(word))
			return false;
		memcpy(word, text, length);
		word[length] = '\0';
		if (!receive_mode_parse(word, &mode))
			return false;
		found |= 1U << mode;
		text += length;
		if (*text == ',' && *++text == '\0')
			return false;
	}
	*modes = found;
	return found != 0;
}
