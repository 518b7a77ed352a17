#include "payload/verify_report.h"

#include "base/limits.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static cJSON *fault_json(const struct verify_fault *fault)
{
	cJSON *object = cJSON_CreateObject();
	json_add_text(object, "kind", verify_kind_name(fault->kind));
	json_add_u64(object, "stream", fault->stream);
	json_add_u64(object, "block", fault->block);
	json_add_u64(object, "offset", fault->offset);
	return object;
}

cJSON *verify_report_json(const struct verify_report *report)
{
	cJSON *object = cJSON_CreateObject();
	json_add_u64(object, "blocks", report->blocks);
	json_add_u64(object, "payload_bytes", report->payload_bytes);
	json_add_u64(object, "faults", verify_fault_count(report));
	for (unsigned kind = 0; kind < VERIFY_KINDS; kind++)
		json_add_u64(object, verify_kind_name(kind), report->counts[kind]);
	cJSON *first = json_add_array(object, "first");
	for (unsigned i = 0; i < report->kept; i++)
		(void)cJSON_AddItemToArray(first, fault_json(&report->faults[i]));
	return object;
}

static bool fault_decode(const cJSON *object, struct verify_fault *fault)
{
	uint64_t stream;
	const char *name = json_get_text(object, "kind");
	if (name == NULL || !json_get_u64(object, "stream", 0, STREAMS_LIMIT - 1, &stream) ||
	    !json_get_u64(object, "block", 0, JSON_INTEGER_MAX, &fault->block) ||
	    !json_get_u64(object, "offset", 0, JSON_INTEGER_MAX, &fault->offset))
		return false;
	fault->stream = (uint32_t)stream;
	for (unsigned kind = 0; kind < VERIFY_KINDS; kind++) {
		if (strcmp(name, verify_kind_name(kind)) == 0) {
			fault->kind = kind;
			return true;
		}
	}
	return false;
}

bool verify_report_decode(const cJSON *object, struct verify_report *report)
{
	memset(report, 0, sizeof(*report));
	if (!json_get_u64(object, "blocks", 0, JSON_INTEGER_MAX, &report->blocks) ||
	    !json_get_u64(object, "payload_bytes", 0, JSON_INTEGER_MAX, &report->payload_bytes))
		return false;
	for (unsigned kind = 0; kind < VERIFY_KINDS; kind++) {
		if (!json_get_u64(object, verify_kind_name(kind), 0, JSON_INTEGER_MAX,
				  &report->counts[kind]))
			return false;
	}
	const cJSON *first = cJSON_GetObjectItemCaseSensitive(object, "first");
	const cJSON *entry;
	if (!cJSON_IsArray(first) || cJSON_GetArraySize(first) > VERIFY_FAULTS_KEPT)
		return false;
	cJSON_ArrayForEach(entry, first)
	{
		if (!fault_decode(entry, &report->faults[report->kept++]))
			return false;
	}
	return true;
}

void verify_report_add(struct verify_report *total, const struct verify_report *part)
{
	total->blocks += part->blocks;
	total->payload_bytes += part->payload_bytes;
	for (unsigned kind = 0; kind < VERIFY_KINDS; kind++)
		total->counts[kind] += part->counts[kind];
	for (unsigned i = 0; i < part->kept && total->kept < VERIFY_FAULTS_KEPT; i++)
		total->faults[total->kept++] = part->faults[i];
}

void verify_report_text(const struct verify_report *report, char *text, size_t size)
{
	uint64_t faults = verify_fault_count(report);
	const struct verify_fault *first = &report->faults[0];
	const char *separator = "";
	size_t used = (size_t)snprintf(text, size, "verification found %" PRIu64 " fault%s (",
				       faults, faults == 1 ? "" : "s");
	for (unsigned kind = 0; kind < VERIFY_KINDS && used < size; kind++) {
		if (report->counts[kind] == 0)
			continue;
		used += (size_t)snprintf(text + used, size - used, "%s%" PRIu64 " %s", separator,
					 report->counts[kind], verify_kind_name(kind));
		separator = ", ";
	}
	if (used < size)
		(void)snprintf(text + used, size - used,
			       "); the first: stream %" PRIu32 ", block %" PRIu64
			       ", offset %" PRIu64 " of its payload (%s)",
			       first->stream, first->block, first->offset,
			       verify_kind_name(first->kind));
}
