#include "base/text_sanitize.h"

#include <stdbool.h>
#include <stdint.h>

struct range {
	uint32_t first;
	uint32_t last;
};

/* What a terminal obeys, or what makes readers see another order than there is. */
static const struct range unwanted[] = {
    {0x00, 0x1f},       /* C0 */
    {0x7f, 0x9f},       /* DEL, C1 */
    {0x061c, 0x061c},   /* Arabic letter mark */
    {0x200b, 0x200f},   /* of no width; left-to-right and right-to-left mark */
    {0x2028, 0x202e},   /* separators of lines and paragraphs; embeddings, overrides */
    {0x2060, 0x206f},   /* invisible; isolates */
    {0xd800, 0xdfff},   /* surrogates */
    {0xfeff, 0xfeff},   /* byte order mark */
    {0xfff9, 0xfffb},   /* annotations */
    {0xe0000, 0xe007f}, /* tags */
};

static bool may_be_shown(uint32_t code)
{
	for (size_t i = 0; i < sizeof(unwanted) / sizeof(unwanted[0]); i++) {
		if (code >= unwanted[i].first && code <= unwanted[i].last)
			return false;
	}
	return code <= 0x10ffff;
}

size_t text_character(const char *text)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *at = (const unsigned char *)text;
	if (at[0] < 0x80)
		return may_be_shown(at[0]) ? 1 : 0;
	if (at[0] < 0xc2 || at[0] > 0xf4)
		return 0;
	size_t count = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
	uint32_t code = at[0] & (0x7fU >> count);
	/* The NUL at the end is no continuation either. */
	for (size_t i = 1; i < count; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (at[i] & 0x3fU);
	}
	return code >= least[count] && may_be_shown(code) ? count : 0;
}

void text_sanitize(char *text)
{
	while (*text != '\0') {
		size_t count = text_character(text);
		if (count == 0)
			*text = '?';
		text += count != 0 ? count : 1;
	}
}
