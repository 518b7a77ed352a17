/* Whole reads and writes at a place in a file, whatever signals come. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* 0, or a positive errno. */
int pwrite_all(int fd, const uint8_t *bytes, size_t count, uint64_t offset);
/*
 * Up to `asked` bytes, at least `wanted` unless the file ends before; how many came, or -1 with
 * errno. Direct I/O asks for whole blocks, of which a file's last one comes short.
 */
ssize_t pread_all(int fd, uint8_t *bytes, size_t wanted, size_t asked, uint64_t offset);
