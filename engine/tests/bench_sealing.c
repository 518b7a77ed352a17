/*
 * What libcrypto takes for the encrypted records of a block (protect.h), as a JSON line: which
 * libcrypto, and processor seconds per GB for sealing and for opening them, medians over the turns.
 */
#include "base/clock.h"
#include "protect/protect.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>

#define RECORDS 4
#define BLOCKS  400
#define TURNS   15

static const uint8_t secret[PROTECT_SECRET_BYTES] = {1};
static uint8_t payloads[RECORDS][PROTECT_PAYLOAD_BYTES];
static uint8_t records[RECORDS][PROTECT_RECORD_BYTES];

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a;
	double right = *(const double *)b;
	return (left > right) - (left < right);
}

static bool block_seal(struct protector *from)
{
	bool right = true;
	for (unsigned i = 0; right && i < RECORDS; i++) {
		const uint8_t *sealed;
		uint8_t *room = records[i] + PROTECT_HEAD_BYTES;
		right = protector_seal(from, PROTECT_DATA, payloads[i], PROTECT_PAYLOAD_BYTES, room,
				       records[i], &sealed, room + PROTECT_PAYLOAD_BYTES);
	}
	return right;
}

static bool block_open(struct protector *to)
{
	bool right = true;
	for (unsigned i = 0; right && i < RECORDS; i++)
		right = protector_open(to, records[i], payloads[i]);
	return right;
}

int main(void)
{
	double seal_s[TURNS];
	double open_s[TURNS];
	struct protector *from = protector_create(PROTECT_AEAD, true, secret, 0);
	struct protector *to = protector_create(PROTECT_AEAD, false, secret, 0);
	bool right = from != NULL && to != NULL;
	for (unsigned turn = 0; right && turn < TURNS; turn++) {
		uint64_t seal_ns = 0;
		uint64_t open_ns = 0;
		for (unsigned i = 0; right && i < BLOCKS; i++) {
			uint64_t begun_ns = clock_thread_cpu_ns();
			right = block_seal(from);
			uint64_t sealed_ns = clock_thread_cpu_ns();
			right = right && block_open(to);
			seal_ns += sealed_ns - begun_ns;
			open_ns += clock_thread_cpu_ns() - sealed_ns;
		}
		seal_s[turn] = (double)seal_ns / BLOCKS / sizeof(payloads);
		open_s[turn] = (double)open_ns / BLOCKS / sizeof(payloads);
	}
	protector_destroy(from);
	protector_destroy(to);
	if (!right)
		return 1;
	qsort(seal_s, TURNS, sizeof(seal_s[0]), compare);
	qsort(open_s, TURNS, sizeof(open_s[0]), compare);
	(void)printf("{\"library\": \"%s\", \"seal\": %.4f, \"open\": %.4f}\n",
		     OpenSSL_version(OPENSSL_VERSION), seal_s[TURNS / 2], open_s[TURNS / 2]);
	return 0;
}
