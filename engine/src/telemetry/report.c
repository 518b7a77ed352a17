#include "telemetry/report.h"

#include "base/number.h"
#include "build_id.h"
#include "payload/verify_report.h"

#include <stdio.h>
#include <string.h>

cJSON *engine_json(void)
{
	cJSON *object = cJSON_CreateObject();
	json_add_text(object, "version", ENGINE_VERSION);
	json_add_text(object, "build", ENGINE_BUILD);
	return object;
}

cJSON *cpu_json(const struct cpu_usage *usage)
{
	cJSON *object = cJSON_CreateObject();
	json_add_seconds(object, "user_s", usage->user_ns);
	json_add_seconds(object, "system_s", usage->system_ns);
	return object;
}

static cJSON *stream_encode(const struct stream_report *stream, unsigned index)
{
	cJSON *object = cJSON_CreateObject();
	json_add_u64(object, "stream", index);
	json_add_u64(object, "bytes", stream->bytes);
	json_add_u64(object, "early_bytes", stream->early_bytes);
	json_add_u64(object, "first_ns", stream->first_ns);
	json_add_u64(object, "last_ns", stream->last_ns);
	json_add_u64(object, "calls", stream->calls);
	json_add_u64(object, "cpu_ns", stream->cpu_ns);
	json_add_item(object, "tcp_info", cJSON_Duplicate(stream->tcp_info, true));
	if (stream->checked)
		json_add_item(object, "verified", verify_report_json(&stream->verified));
	return object;
}

cJSON *receiver_report_encode(const struct receiver_report *report)
{
	cJSON *message = message_create(MESSAGE_RESULT);
	json_add_bool(message, "complete", report->complete);
	json_add_text(message, "error", report->error[0] != '\0' ? report->error : NULL);
	json_add_text(message, "affinity", report->affinity);
	/* Nanoseconds since 1970 do not fit a double: microseconds do. */
	json_add_u64(message, "start_unix_us", report->start_unix_ns / 1000);
	json_add_u64(message, "duration_ns", report->duration_ns);
	json_add_u64(message, "bytes", report->bytes);
	json_add_u64(message, "early_bytes", report->early_bytes);
	json_add_u64(message, "omitted_bytes", report->omitted_bytes);
	json_add_u64(message, "rcvbuf_bytes", report->rcvbuf_bytes);
	json_add_u64(message, "packets_received", report->packets_received);
	json_add_u64(message, "cpu_user_ns", report->cpu.user_ns);
	json_add_u64(message, "cpu_system_ns", report->cpu.system_ns);
	json_add_item(message, "host", host_usage_encode(&report->host));
	if (report->files != NULL)
		json_add_item(message, "files", cJSON_Duplicate(report->files, true));
	cJSON *streams = json_add_array(message, "streams");
	for (unsigned i = 0; i < report->streams; i++)
		(void)cJSON_AddItemToArray(streams, stream_encode(&report->stream[i], i));
	return message;
}

/* Absent: none. */
static uint64_t early_decode(const cJSON *object, uint64_t bytes)
{
	uint64_t early;
	return json_get_u64(object, "early_bytes", 0, bytes, &early) ? early : 0;
}

static bool stream_decode(const cJSON *object, struct stream_report *stream)
{
	const cJSON *info = cJSON_GetObjectItemCaseSensitive(object, "tcp_info");
	if (!json_get_u64(object, "bytes", 0, JSON_INTEGER_MAX, &stream->bytes) ||
	    !json_get_u64(object, "first_ns", 0, JSON_INTEGER_MAX, &stream->first_ns) ||
	    !json_get_u64(object, "last_ns", stream->first_ns, JSON_INTEGER_MAX,
			  &stream->last_ns) ||
	    !json_get_u64(object, "calls", 0, JSON_INTEGER_MAX, &stream->calls) ||
	    !json_get_u64(object, "cpu_ns", 0, JSON_INTEGER_MAX, &stream->cpu_ns) ||
	    !cJSON_IsObject(info))
		return false;
	stream->early_bytes = early_decode(object, stream->bytes);
	const cJSON *verified = cJSON_GetObjectItemCaseSensitive(object, "verified");
	stream->checked = verified != NULL;
	if (stream->checked && !verify_report_decode(verified, &stream->verified))
		return false;
	stream->tcp_info = cJSON_Duplicate(info, true);
	return true;
}

static bool totals_decode(const cJSON *message, struct receiver_report *report)
{
	uint64_t start_us;
	if (!json_get_u64(message, "start_unix_us", 0, JSON_INTEGER_MAX, &start_us) ||
	    !json_get_u64(message, "duration_ns", 0, JSON_INTEGER_MAX, &report->duration_ns) ||
	    !json_get_u64(message, "bytes", 0, JSON_INTEGER_MAX, &report->bytes) ||
	    !json_get_u64(message, "rcvbuf_bytes", 0, UINT32_MAX, &report->rcvbuf_bytes) ||
	    !json_get_u64(message, "packets_received", 0, JSON_INTEGER_MAX,
			  &report->packets_received) ||
	    !json_get_u64(message, "cpu_user_ns", 0, JSON_INTEGER_MAX, &report->cpu.user_ns) ||
	    !json_get_u64(message, "cpu_system_ns", 0, JSON_INTEGER_MAX, &report->cpu.system_ns) ||
	    !host_usage_decode(cJSON_GetObjectItemCaseSensitive(message, "host"), &report->host))
		return false;
	report->start_unix_ns = start_us * 1000;
	report->early_bytes = early_decode(message, report->bytes);
	if (!json_get_u64(message, "omitted_bytes", 0, JSON_INTEGER_MAX, &report->omitted_bytes))
		report->omitted_bytes = 0;
	return true;
}

int receiver_report_decode(const cJSON *message, unsigned streams, struct receiver_report *report,
			   struct failure *failure)
{
	memset(report, 0, sizeof(*report));
	const char *error = json_get_text(message, "error");
	report->complete = json_get_true(message, "complete");
	const char *affinity = json_get_text(message, "affinity");
	if (affinity != NULL)
		(void)snprintf(report->affinity, sizeof(report->affinity), "%s", affinity);
	if (error != NULL)
		(void)snprintf(report->error, sizeof(report->error), "%s", error);
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(message, "streams");
	if (!totals_decode(message, report) || !cJSON_IsArray(list) ||
	    cJSON_GetArraySize(list) != (int)streams)
		return failure_set(failure, "the receiver's result is not as it should be");
	const cJSON *files = cJSON_GetObjectItemCaseSensitive(message, "files");
	if (cJSON_IsObject(files))
		report->files = cJSON_Duplicate(files, true);
	const cJSON *object;
	cJSON_ArrayForEach(object, list)
	{
		if (!stream_decode(object, &report->stream[report->streams])) {
			receiver_report_clear(report);
			return failure_set(failure, "the receiver's result is wrong for stream %u",
					   report->streams);
		}
		report->streams++;
	}
	return 0;
}

void receiver_report_clear(struct receiver_report *report)
{
	for (unsigned i = 0; i < report->streams; i++) {
		cJSON_Delete(report->stream[i].tcp_info);
		report->stream[i].tcp_info = NULL;
	}
	report->streams = 0;
	cJSON_Delete(report->files);
	report->files = NULL;
}

uint64_t receiver_report_end_unix_ns(const struct receiver_report *report)
{
	uint64_t last_ns = 0;
	for (unsigned i = 0; i < report->streams; i++)
		last_ns = number_most(last_ns, report->stream[i].last_ns);
	return report->start_unix_ns + last_ns;
}
