/* What a verification found, as JSON. */
#pragma once

#include "base/json.h"
#include "payload/verify.h"

/*
 * {"blocks", "payload_bytes", "faults", a count per kind,
 *  "first": [{"kind", "stream", "block", "offset"}, ...]}
 */
cJSON *verify_report_json(const struct verify_report *report);
/* False when it is not one. */
bool verify_report_decode(const cJSON *object, struct verify_report *report);
/* Sums; the first faults of all streams are kept as far as there is room. */
void verify_report_add(struct verify_report *total, const struct verify_report *part);
/* "3 faults (2 damaged, 1 missing); the first: stream 0, block 7, offset 1835008 (damaged)" */
void verify_report_text(const struct verify_report *report, char *text, size_t size);
