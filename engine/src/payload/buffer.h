/* Memory for payload, in huge pages where they can be had. */
#pragma once

#include <stddef.h>

enum buffer_pages {
	BUFFER_PAGES_PLAIN,
	BUFFER_PAGES_TRANSPARENT, /* MADV_HUGEPAGE, and the kernel made them */
	BUFFER_PAGES_HUGETLB,     /* reserved ones (vm.nr_hugepages) */
};

struct buffer {
	void *bytes;
	size_t size; /* as mapped: a multiple of the page */
	enum buffer_pages pages;
};

/* Private memory; pages come when first written. 0 or a positive errno. */
int buffer_open(struct buffer *buffer, size_t size);
void buffer_close(struct buffer *buffer);
const char *buffer_pages_name(enum buffer_pages pages);
