#include "payload/buffer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_BYTES ((size_t)2 << 20)

static const char *const pages_names[] = {
    [BUFFER_PAGES_PLAIN] = "4 KiB",
    [BUFFER_PAGES_TRANSPARENT] = "2 MiB, transparent",
    [BUFFER_PAGES_HUGETLB] = "2 MiB, reserved",
};

const char *buffer_pages_name(enum buffer_pages pages)
{
	return pages_names[pages];
}

static void *memory_map(size_t size, int flags)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

#define HUGE_LINE "AnonHugePages:"

/* What /proc/self/smaps says of the mapping that holds the address: did the kernel make them? */
static bool huge_pages_there(const void *address)
{
	char line[256];
	bool here = false;
	unsigned long long kilobytes = 0;
	FILE *file = fopen("/proc/self/smaps", "re");
	if (file == NULL)
		return false;
	while (kilobytes == 0 && fgets(line, sizeof(line), file) != NULL) {
		char *end;
		/* "7f0000000000-7f0000200000 rw-p ..." opens a mapping's lines. */
		unsigned long long low = strtoull(line, &end, 16);
		if (end != line && *end == '-')
			here = (uintptr_t)address >= low &&
			       (uintptr_t)address < strtoull(end + 1, NULL, 16);
		else if (here && strncmp(line, HUGE_LINE, strlen(HUGE_LINE)) == 0)
			kilobytes = strtoull(line + strlen(HUGE_LINE), NULL, 10);
	}
	(void)fclose(file);
	return kilobytes != 0;
}

/* Aligned to a huge page by mapping more and giving back what is too much. */
static void *aligned_map(size_t size)
{
	uint8_t *bytes = memory_map(size + HUGE_BYTES, MAP_NORESERVE);
	if (bytes == MAP_FAILED)
		return MAP_FAILED;
	size_t before = (HUGE_BYTES - (uintptr_t)bytes % HUGE_BYTES) % HUGE_BYTES;
	if (before != 0)
		(void)munmap(bytes, before);
	(void)munmap(bytes + before + size, HUGE_BYTES - before);
	return bytes + before;
}

int buffer_open(struct buffer *buffer, size_t size)
{
	buffer->size = (size + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
	buffer->pages = BUFFER_PAGES_HUGETLB;
	buffer->bytes = memory_map(buffer->size, MAP_HUGETLB);
	if (buffer->bytes != MAP_FAILED)
		return 0;
	buffer->pages = BUFFER_PAGES_PLAIN;
	buffer->bytes = aligned_map(buffer->size);
	if (buffer->bytes == MAP_FAILED) {
		buffer->bytes = NULL;
		return errno;
	}
	/* Refused where the kernel has none: then plain pages are what there is. */
	(void)madvise(buffer->bytes, buffer->size, MADV_HUGEPAGE);
	/* One page shows what the others will be. */
	*(volatile uint8_t *)buffer->bytes = 0;
	if (huge_pages_there(buffer->bytes))
		buffer->pages = BUFFER_PAGES_TRANSPARENT;
	return 0;
}

void buffer_close(struct buffer *buffer)
{
	/* Pages that are still in flight live on in the kernel, unchanged. */
	if (buffer->bytes != NULL)
		(void)munmap(buffer->bytes, buffer->size);
	buffer->bytes = NULL;
}
