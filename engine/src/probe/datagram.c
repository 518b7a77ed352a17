#include "probe/datagram.h"

#include "base/wire.h"

#include <math.h>
#include <sodium.h>
#include <string.h>

#define TAG_OFFSET 24
#define TAG_BYTES  16

static const uint8_t magic[8] = {'l', 's', 'p', 'u', 'd', 'p', 0, 1};

_Static_assert(TAG_OFFSET + TAG_BYTES == DATAGRAM_HEAD_BYTES, "no gap");
_Static_assert(TAG_BYTES >= crypto_generichash_BYTES_MIN, "as short as BLAKE2b goes");

static void tag_make(const uint8_t *bytes, const uint8_t secret[SECRET_BYTES],
		     uint8_t tag[TAG_BYTES])
{
	(void)crypto_generichash(tag, TAG_BYTES, bytes, TAG_OFFSET, secret, SECRET_BYTES);
}

void datagram_encode(const struct datagram *datagram, const uint8_t secret[SECRET_BYTES],
		     uint8_t bytes[DATAGRAM_HEAD_BYTES])
{
	memcpy(bytes, magic, sizeof(magic));
	(void)wire_put_u64(wire_put_u64(bytes + sizeof(magic), datagram->number),
			   datagram->sent_ns);
	tag_make(bytes, secret, bytes + TAG_OFFSET);
}

bool datagram_decode(const uint8_t *bytes, size_t count, const uint8_t secret[SECRET_BYTES],
		     struct datagram *datagram)
{
	uint8_t tag[TAG_BYTES];
	if (count < DATAGRAM_HEAD_BYTES || memcmp(bytes, magic, sizeof(magic)) != 0)
		return false;
	tag_make(bytes, secret, tag);
	if (sodium_memcmp(tag, bytes + TAG_OFFSET, TAG_BYTES) != 0)
		return false;
	(void)wire_get_u64(wire_get_u64(bytes + sizeof(magic), &datagram->number),
			   &datagram->sent_ns);
	return datagram->number < DATAGRAM_NUMBERS;
}

/* True when it was not set before. */
static bool seen_set(struct arrivals *arrivals, uint64_t number)
{
	uint64_t *word = &arrivals->seen[number % ARRIVALS_WINDOW / 64];
	uint64_t bit = UINT64_C(1) << number % 64;
	bool before = (*word & bit) != 0;
	*word |= bit;
	return !before;
}

/* The window moves on: what is behind it is forgotten. */
static void window_move(struct arrivals *arrivals, uint64_t number)
{
	if (number - arrivals->next >= ARRIVALS_WINDOW)
		memset(arrivals->seen, 0, sizeof(arrivals->seen));
	else
		for (uint64_t i = arrivals->next; i <= number; i++)
			arrivals->seen[i % ARRIVALS_WINDOW / 64] &= ~(UINT64_C(1) << i % 64);
	arrivals->next = number + 1;
}

void arrivals_take(struct arrivals *arrivals, const struct datagram *datagram, uint64_t came_ns)
{
	uint64_t number = datagram->number;
	int64_t transit_ns = (int64_t)(came_ns - datagram->sent_ns);
	if (number >= arrivals->next) {
		window_move(arrivals, number);
	} else if (arrivals->next - number > ARRIVALS_WINDOW) {
		arrivals->reordered++;
		arrivals->late++;
		arrivals->received++;
		return;
	} else {
		arrivals->reordered++;
	}
	if (!seen_set(arrivals, number)) {
		arrivals->reordered--;
		arrivals->duplicates++;
		return;
	}
	if (arrivals->received++ != 0) {
		double change_ns = fabs((double)(transit_ns - arrivals->transit_ns));
		arrivals->jitter_ns += (change_ns - arrivals->jitter_ns) / 16;
		arrivals->changes_ns += change_ns;
	}
	arrivals->transit_ns = transit_ns;
}
