/* What a peer says, before anybody reads it. */
#include "base/failure.h"
#include "base/text_sanitize.h"
#include "check.h"

#include <stdio.h>
#include <string.h>

static void is_made(const char *from, const char *to)
{
	char text[64];
	(void)snprintf(text, sizeof(text), "%s", from);
	text_sanitize(text);
	assert_string_equal(text, to);
}

static void words_stay_as_they_are(void **state)
{
	static const char *const words[] = {
	    "",
	    "plain, with 100 % of it",
	    "Z\xc3\xbcrich",
	    "\xe6\x97\xa5\xe6\x9c\xac",
	    "\xf0\x9f\x9a\x80",
	    "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d" /* right to left of itself */,
	};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		is_made(words[i], words[i]);
}

static void what_a_terminal_obeys_is_gone(void **state)
{
	is_made("\x1b]0;owned\x07\x1b[31mred", "?]0;owned??[31mred");
	is_made("a\r\nb\tc\x08", "a??b?c?");
	is_made("\x7f", "?");
	is_made("\xc2\x9b"
		"31m",
		"??31m"); /* CSI as one character */
	is_made("\x9b"
		"31m",
		"?31m"); /* and as one byte */
	is_made("\xc2\xa0", "\xc2\xa0");
}

static void what_turns_the_writing_is_gone(void **state)
{
	is_made("\xe2\x80\xae"
		"gpj.exe",
		"???gpj.exe");          /* U+202E */
	is_made("\xe2\x81\xa6", "???"); /* U+2066 */
	is_made("\xe2\x80\xa8", "???"); /* U+2028 */
	is_made("\xef\xbb\xbf", "???");
	is_made("\xe2\x80\x94", "\xe2\x80\x94"); /* a dash */
	is_made("\xf3\xa0\x81\x81", "????");
}

static void what_is_no_utf8_is_gone(void **state)
{
	is_made("\xff\xfe", "??");
	is_made("\xc3", "?"); /* cut */
	is_made("\xe6\x97", "??");
	is_made("\xc0\xaf", "??");           /* overlong */
	is_made("\xe0\x80\xaf", "???");      /* the same */
	is_made("\xed\xa0\x80", "???");      /* a surrogate */
	is_made("\xf4\x90\x80\x80", "????"); /* above U+10FFFF */
	is_made("\xc3(", "?(");
}

static void failures_are_harmless(void **state)
{
	struct failure failure = {0};
	(void)failure_set(&failure, "'%s' is what it said", "\x1b[2J");
	assert_string_equal(failure.text, "'?[2J' is what it said");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(words_stay_as_they_are),
	    cmocka_unit_test(what_a_terminal_obeys_is_gone),
	    cmocka_unit_test(what_turns_the_writing_is_gone),
	    cmocka_unit_test(what_is_no_utf8_is_gone),
	    cmocka_unit_test(failures_are_harmless),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
