#include "check.h"
#include "control/message.h"
#include "files/journal.h"
#include "files/list.h"
#include "files/message.h"
#include "files/record.h"
#include "files/root.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void checksums_are_xxh3(void **state)
{
	char hex[2 * CHECKSUM_BYTES + 1];
	static const uint8_t zeros[FILE_BLOCK_BYTES];
	struct checksum checksum = checksum_of("", 0);
	for (unsigned i = 0; i < CHECKSUM_BYTES; i++)
		(void)snprintf(hex + (size_t)2 * i, 3, "%02x", checksum.bytes[i]);
	/* XXH128("") of the specification of xxHash. */
	assert_string_equal(hex, "99aa06d3014798d86001c324468d497f");
	struct checksum whole = checksum_of(zeros, sizeof(zeros));
	struct checksum of_zeros = checksum_of_zeros(sizeof(zeros));
	assert_true(checksum_equal(&whole, &of_zeros));
	whole = checksum_of(zeros, 1000);
	of_zeros = checksum_of_zeros(1000);
	assert_true(checksum_equal(&whole, &of_zeros));
}

static void records_come_back(void **state)
{
	uint8_t bytes[RECORD_BYTES];
	struct record found;
	struct failure failure = {0};
	const struct record record = {.kind = RECORD_BLOCK,
				      .entry = 70000,
				      .length = 5,
				      .offset = (uint64_t)9 * FILE_BLOCK_BYTES,
				      .checksum = checksum_of("bytes", 5)};
	record_encode(&record, bytes);
	assert_int_equal(record_decode(bytes, &found, &failure), 0);
	assert_int_equal(found.kind, RECORD_BLOCK);
	assert_int_equal(found.entry, 70000);
	assert_int_equal(found.length, 5);
	assert_true(found.offset == record.offset);
	assert_true(checksum_equal(&found.checksum, &record.checksum));
	for (unsigned bit = 0; bit < 8 * RECORD_BYTES; bit++) {
		bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
		assert_int_equal(record_decode(bytes, &found, &failure), -1);
		bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
	}
}

static void paths_are_checked(void **state)
{
	char longest[FILE_PATH_BYTES + 2];
	static const char *const good[] = {
	    "a", "a/b", "...", "a/..b", ".hidden", "-", " ", "a.landspeed-partial", "\xff\xfe"};
	static const char *const bad[] = {"",
					  "/",
					  "/a",
					  "..",
					  ".",
					  "a/..",
					  "../a",
					  "a//b",
					  "a/",
					  "a/./b",
					  "a/../b",
					  ".a.landspeed-partial",
					  "d/.a.landspeed-journal",
					  ".a.landspeed-partial-long"};
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_null(file_path_fault(good[i], strlen(good[i])));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_non_null(file_path_fault(bad[i], strlen(bad[i])));
	assert_non_null(file_path_fault("a\0b", 3));
	for (size_t i = 0; i < sizeof(longest); i++)
		longest[i] = i % 2 == 0 ? 'a' : '/';
	assert_null(file_path_fault(longest, FILE_PATH_BYTES));
	assert_string_equal(file_path_fault(longest, FILE_PATH_BYTES + 1), "is above 4095 bytes");
	memset(longest, 'n', sizeof(longest));
	assert_null(file_path_fault(longest, FILE_NAME_BYTES));
	assert_non_null(file_path_fault(longest, FILE_NAME_BYTES + 1));
}

static void link_targets_are_judged(void **state)
{
	assert_true(file_target_is_inside("link", "a"));
	assert_true(file_target_is_inside("a/b/link", "../../c"));
	assert_true(file_target_is_inside("a/link", "./.././b"));
	assert_true(file_target_is_inside("d/e/up", "../.."));
	assert_true(file_target_is_inside("link", "..."));
	assert_false(file_target_is_inside("link", ".."));
	assert_false(file_target_is_inside("a/link", "../../b"));
	assert_false(file_target_is_inside("a/link", "b/../../../c"));
	assert_false(file_target_is_inside("link", "/a"));
	/* A name may be a link, and above what it leads to is anything. */
	assert_false(file_target_is_inside("m", "d/e/up/.."));
	assert_false(file_target_is_inside("a/b/link", "../c/../d"));
	assert_false(file_target_is_inside("link", "a/./.."));
	assert_true(file_target_is_inside("a/b/link", ".././..//c"));
}

static void entries_come_back(void **state)
{
	uint8_t bytes[ENTRY_BYTES_MAX];
	size_t used = 0;
	struct failure failure = {0};
	struct file_entry found;
	struct file_entry entry = {.kind = FILE_SYMLINK,
				   .mode = 0755,
				   .mtime = {.tv_sec = -1, .tv_nsec = 999999999},
				   .ctime = {.tv_sec = INT64_C(1) << 40, .tv_nsec = 1},
				   .path = "a/link",
				   .target = "b"};
	file_entry_encode(&entry, bytes);
	size_t size = file_entry_bytes(&entry);
	assert_int_equal(file_entry_decode(bytes, size, &used, &found, &failure), 0);
	assert_int_equal(used, size);
	assert_int_equal(found.kind, FILE_SYMLINK);
	assert_int_equal(found.mode, 0755);
	assert_true(found.mtime.tv_sec == -1 && found.mtime.tv_nsec == 999999999);
	assert_true(found.ctime.tv_sec == INT64_C(1) << 40 && found.ctime.tv_nsec == 1);
	assert_string_equal(found.path, "a/link");
	assert_string_equal(found.target, "b");
	file_entry_clear(&found);
	for (size_t cut = 0; cut < size; cut++)
		assert_int_equal(file_entry_decode(bytes, cut, &used, &found, &failure), -1);
}

static void odd_names_are_shown(void **state)
{
	char text[64];
	file_path_text("a\n\x1b[31m\\\xff\xc3\xa9\x7f\xc2\x85\xed\xa0\x80", text, sizeof(text));
	assert_string_equal(text, "a\\x0a\\x1b[31m\\\\\\xff\xc3\xa9\\x7f\\xc2\\x85\\xed\\xa0\\x80");
	file_path_text("aaaaaaaaaaaaaaaa", text, 10);
	assert_true(strlen(text) < 10);
}

/* A file without a name; the journal closes it. */
static int scratch(void)
{
	char name[] = "/tmp/landspeed-journal-XXXXXX";
	int fd = mkstemp(name);
	assert_true(fd >= 0);
	assert_int_equal(unlink(name), 0);
	return fd;
}

static const struct file_entry source = {.size = (uint64_t)5 * FILE_BLOCK_BYTES,
					 .mtime = {.tv_sec = 100, .tv_nsec = 5},
					 .ctime = {.tv_sec = 200, .tv_nsec = 6}};

static const uint8_t trust[JOURNAL_TRUST_BYTES] = "a protection";

static int journal_fill(unsigned claims)
{
	struct journal journal;
	int fd = scratch();
	int kept = dup(fd);
	assert_int_equal(journal_start(&journal, fd, &source, trust), 0);
	for (uint32_t i = 0; i < claims; i++) {
		const struct journal_claim claim = {.block = i, .checksum = checksum_of(&i, 4)};
		assert_int_equal(journal_append(&journal, &claim), 0);
	}
	journal_close(&journal);
	return kept;
}

static unsigned journal_read(int fd, const struct file_entry *of)
{
	unsigned found = 0;
	struct journal journal;
	struct journal_claim claim;
	assert_int_equal(journal_start(&journal, dup(fd), of, trust), 0);
	while (journal_next(&journal, &claim) == 1) {
		struct checksum wanted = checksum_of(&claim.block, 4);
		assert_true(checksum_equal(&claim.checksum, &wanted));
		found |= 1U << claim.block;
	}
	journal_close(&journal);
	return found;
}

static void journals_keep_claims(void **state)
{
	int fd = journal_fill(5);
	assert_int_equal(journal_read(fd, &source), 0x1f);
	assert_int_equal(journal_read(fd, &source), 0x1f);
	/* Torn: the last one is lost, and the next is written over it. */
	assert_int_equal(ftruncate(fd, JOURNAL_HEADER_BYTES + 5 * JOURNAL_ENTRY_BYTES - 1), 0);
	assert_int_equal(journal_read(fd, &source), 0x0f);
	struct journal journal;
	uint32_t block = 4;
	const struct journal_claim claim = {.block = block, .checksum = checksum_of(&block, 4)};
	assert_int_equal(journal_start(&journal, dup(fd), &source, trust), 0);
	assert_int_equal(journal_append(&journal, &claim), 0);
	journal_close(&journal);
	assert_int_equal(journal_read(fd, &source), 0x1f);
	/* A damaged one costs itself alone. */
	assert_int_equal(pwrite(fd, "x", 1, JOURNAL_HEADER_BYTES + 2 * JOURNAL_ENTRY_BYTES + 7), 1);
	assert_int_equal(journal_read(fd, &source), 0x1b);
	(void)close(fd);
}

static void journals_are_of_one_source(void **state)
{
	struct file_entry others[4] = {source, source, source, source};
	others[0].size++;
	others[1].mtime.tv_nsec++;
	others[2].ctime.tv_nsec++;
	others[3].mtime.tv_sec--;
	for (unsigned i = 0; i < 4; i++) {
		int fd = journal_fill(5);
		assert_int_equal(journal_read(fd, &others[i]), 0);
		/* It is the other one's now. */
		assert_int_equal(journal_read(fd, &source), 0);
		(void)close(fd);
	}
}

/* What came without protection, or under another key, nobody vouches for. */
static void journals_are_of_one_trust(void **state)
{
	struct journal journal;
	uint8_t other[JOURNAL_TRUST_BYTES];
	for (unsigned i = 0; i < JOURNAL_TRUST_BYTES; i++) {
		int fd = journal_fill(5);
		memcpy(other, trust, sizeof(other));
		other[i] ^= 1;
		assert_int_equal(journal_start(&journal, dup(fd), &source, other), 0);
		assert_true(journal.distrusted);
		assert_true(journal.old_count == 0);
		journal_close(&journal);
		assert_int_equal(journal_read(fd, &source), 0);
		(void)close(fd);
	}
}

static void claims_beyond_the_end_are_none(void **state)
{
	uint8_t header[JOURNAL_HEADER_BYTES];
	uint8_t bytes[JOURNAL_ENTRY_BYTES];
	struct journal_claim found;
	struct journal_claim claim = {.block = 4};
	journal_header_encode(&source, trust, header);
	journal_claim_encode(&claim, header, bytes);
	assert_true(journal_claim_decode(bytes, header, source.size, &found));
	claim.block = 5;
	journal_claim_encode(&claim, header, bytes);
	assert_false(journal_claim_decode(bytes, header, source.size, &found));
}

static void partial_names_fit_and_differ(void **state)
{
	char name[FILE_NAME_BYTES + 1];
	struct partial_names names;
	struct partial_names others;
	partial_names_make("file", &names);
	assert_string_equal(names.partial, ".file.landspeed-partial");
	assert_string_equal(names.journal, ".file.landspeed-journal");
	memset(name, 'n', FILE_NAME_BYTES);
	for (size_t length = 1; length <= FILE_NAME_BYTES; length++) {
		name[FILE_NAME_BYTES - length] = 'n';
		const char *end = name + FILE_NAME_BYTES - length;
		name[FILE_NAME_BYTES] = '\0';
		partial_names_make(end, &names);
		assert_true(strlen(names.partial) <= FILE_NAME_BYTES);
		assert_true(strlen(names.journal) <= FILE_NAME_BYTES);
		assert_non_null(file_path_fault(names.partial, strlen(names.partial)));
		assert_non_null(file_path_fault(names.journal, strlen(names.journal)));
	}
	partial_names_make(name, &names);
	name[0] = 'm';
	partial_names_make(name, &others);
	assert_string_not_equal(names.partial, others.partial);
}

static void the_root_is_not_left(void **state)
{
	char folder[] = "/tmp/landspeed-root-XXXXXX";
	struct failure failure = {0};
	struct place place;
	struct stat status;
	uid_t self = geteuid();
	int fd = -1;
	assert_non_null(mkdtemp(folder));
	int root = root_open("directory", folder, &failure);
	assert_true(root >= 0);
	assert_int_equal(mkdirat(root, "in", 0700), 0);
	assert_int_equal(symlinkat("in", root, "link"), 0);
	assert_int_equal(symlinkat("/", root, "slash"), 0);
	assert_int_equal(root_directory(root, "in", &fd), 0);
	(void)close(fd);
	assert_int_equal(root_directory(root, "link", &fd), ELOOP);
	assert_int_equal(root_directory(root, "slash", &fd), ELOOP);
	assert_int_equal(root_directory(root, "slash/tmp", &fd), ELOOP);
	/* These do not pass file_path_fault; the kernel refuses them too. */
	assert_int_equal(root_directory(root, "..", &fd), EXDEV);
	assert_int_equal(root_directory(root, "in/../..", &fd), EXDEV);
	assert_int_equal(root_directory(root, "/tmp", &fd), EXDEV);
	assert_int_equal(root_place(root, "link/file", &place), ELOOP);
	place_leave(&place);
	assert_int_equal(root_place(root, "in/file", &place), 0);
	assert_string_equal(place.name, "file");
	assert_int_equal(place_open_file(&place, "file", O_CREAT, &fd, &status), 0);
	/* With a second name it is not ours; if it cannot be removed, it is closed, and only once.
	 */
	assert_int_equal(fchmod(fd, 0666), 0);
	(void)close(fd);
	assert_int_equal(linkat(place.directory, "file", place.directory, "second", 0), 0);
	assert_int_equal(fchmod(place.directory, 0555), 0);
	assert_int_equal(seteuid(self == 0 ? 65534 : self), 0);
	assert_int_equal(place_open_file(&place, "file", O_CREAT, &fd, &status), EACCES);
	assert_int_equal(fd, -1);
	assert_int_equal(seteuid(self), 0);
	assert_int_equal(fchmod(place.directory, 0700), 0);
	assert_int_equal(unlinkat(place.directory, "file", 0), 0);
	assert_int_equal(unlinkat(place.directory, "second", 0), 0);
	place_leave(&place);
	assert_int_equal(unlinkat(root, "link", 0), 0);
	assert_int_equal(unlinkat(root, "slash", 0), 0);
	assert_int_equal(unlinkat(root, "in", AT_REMOVEDIR), 0);
	(void)close(root);
	assert_int_equal(rmdir(folder), 0);
}

static void bitmaps_come_back(void **state)
{
	uint8_t bits[HAVE_BLOCKS / 8] = {0x81, 0x02};
	uint8_t found_bits[HAVE_BLOCKS / 8];
	struct failure failure = {0};
	struct have found = {.bitmap = found_bits};
	cJSON *written = have_encode(
	    &(struct have){.entry = 7, .first_block = 16, .blocks = 11, .bitmap = bits});
	char *text = json_print(written);
	cJSON *message = cJSON_Parse(text);
	free(text);
	cJSON_Delete(written);
	assert_int_equal(have_decode(message, &found, &failure), 0);
	assert_int_equal(found.entry, 7);
	assert_int_equal(found.first_block, 16);
	assert_int_equal(found.blocks, 11);
	assert_memory_equal(found_bits, bits, 2);
	cJSON_ReplaceItemInObjectCaseSensitive(message, "bitmap", cJSON_CreateString("810g"));
	assert_int_equal(have_decode(message, &found, &failure), -1);
	cJSON_ReplaceItemInObjectCaseSensitive(message, "bitmap", cJSON_CreateString("81"));
	assert_int_equal(have_decode(message, &found, &failure), -1);
	cJSON_Delete(message);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(checksums_are_xxh3),
	    cmocka_unit_test(records_come_back),
	    cmocka_unit_test(paths_are_checked),
	    cmocka_unit_test(link_targets_are_judged),
	    cmocka_unit_test(entries_come_back),
	    cmocka_unit_test(odd_names_are_shown),
	    cmocka_unit_test(journals_keep_claims),
	    cmocka_unit_test(journals_are_of_one_source),
	    cmocka_unit_test(journals_are_of_one_trust),
	    cmocka_unit_test(claims_beyond_the_end_are_none),
	    cmocka_unit_test(partial_names_fit_and_differ),
	    cmocka_unit_test(the_root_is_not_left),
	    cmocka_unit_test(bitmaps_come_back),
	};
	json_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
