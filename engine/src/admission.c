#include "admission.h"

#include "clock.h"

#include <netinet/in.h>
#include <string.h>

static int request_check(const struct admission *admission, const struct request *request,
			 struct failure *failure)
{
	if (request->kind == REQUEST_THIRD_PARTY)
		return admission->third_party
			   ? 0
			   : failure_set(failure, "this host sends for nobody: start it with "
						  "--third-party");
	if (request->streams > admission->max_streams)
		return failure_set(failure, "this receiver allows %u stream%s, not %u",
				   admission->max_streams, admission->max_streams == 1 ? "" : "s",
				   request->streams);
	if (request->kind == REQUEST_FILES && !admission->files)
		return failure_set(failure,
				   "this receiver takes no files: start it with --directory DIR");
	if (request->kind == REQUEST_MEMORY && (admission->modes >> request->receive & 1U) == 0)
		return failure_set(failure, "this receiver does not allow --receive %s",
				   receive_mode_name(request->receive));
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
	return ADMISSION_REFUSE;
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

bool admission_same_host(const struct address *a, const struct address *b)
{
	if (a->storage.ss_family != b->storage.ss_family)
		return false;
	if (a->storage.ss_family == AF_INET6)
		return memcmp(&((const struct sockaddr_in6 *)&a->storage)->sin6_addr,
			      &((const struct sockaddr_in6 *)&b->storage)->sin6_addr,
			      sizeof(struct in6_addr)) == 0;
	return ((const struct sockaddr_in *)&a->storage)->sin_addr.s_addr ==
	       ((const struct sockaddr_in *)&b->storage)->sin_addr.s_addr;
}
