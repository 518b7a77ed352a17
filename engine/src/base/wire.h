/* Integers as they travel and lie on disk: big-endian. Each returns where the next one begins. */
#pragma once

#include <endian.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

static inline uint8_t *wire_put_u8(uint8_t *at, uint8_t value)
{
	*at = value;
	return at + 1;
}

static inline uint8_t *wire_put_u16(uint8_t *at, uint16_t value)
{
	value = htobe16(value);
	memcpy(at, &value, sizeof(value));
	return at + sizeof(value);
}

static inline uint8_t *wire_put_u32(uint8_t *at, uint32_t value)
{
	value = htobe32(value);
	memcpy(at, &value, sizeof(value));
	return at + sizeof(value);
}

static inline uint8_t *wire_put_u64(uint8_t *at, uint64_t value)
{
	value = htobe64(value);
	memcpy(at, &value, sizeof(value));
	return at + sizeof(value);
}

static inline uint8_t *wire_put_time(uint8_t *at, const struct timespec *time)
{
	at = wire_put_u64(at, (uint64_t)time->tv_sec);
	return wire_put_u32(at, (uint32_t)time->tv_nsec);
}

static inline const uint8_t *wire_get_u8(const uint8_t *at, uint8_t *value)
{
	*value = *at;
	return at + 1;
}

static inline const uint8_t *wire_get_u16(const uint8_t *at, uint16_t *value)
{
	memcpy(value, at, sizeof(*value));
	*value = be16toh(*value);
	return at + sizeof(*value);
}

static inline const uint8_t *wire_get_u32(const uint8_t *at, uint32_t *value)
{
	memcpy(value, at, sizeof(*value));
	*value = be32toh(*value);
	return at + sizeof(*value);
}

static inline const uint8_t *wire_get_u64(const uint8_t *at, uint64_t *value)
{
	memcpy(value, at, sizeof(*value));
	*value = be64toh(*value);
	return at + sizeof(*value);
}
