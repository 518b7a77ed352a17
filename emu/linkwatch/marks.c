#include "marks.h"

#include <linux/pkt_sched.h>
#include <stddef.h>
#include <string.h>

// Where a kind's statistics (linux/pkt_sched.h) have their counters of marks.
static const struct layout {
	const char *kind;
	size_t offset, second; // second: 0 where there is one counter only
} LAYOUTS[] = {
    {"red", offsetof(struct tc_red_xstats, marked), 0},
    {"codel", offsetof(struct tc_codel_xstats, ecn_mark),
     offsetof(struct tc_codel_xstats, ce_mark)},
    {"fq_codel", offsetof(struct tc_fq_codel_xstats, qdisc_stats.ecn_mark),
     offsetof(struct tc_fq_codel_xstats, qdisc_stats.ce_mark)},
    {"pie", offsetof(struct tc_pie_xstats, ecn_mark), 0},
    {"fq_pie", offsetof(struct tc_fq_pie_xstats, ecn_mark), 0},
    // struct tc_dualpi2_xstats, which the headers of this machine may not have: six numbers, then
    // ecn_mark, in which the marks by the threshold are counted too.
    {"dualpi2", 6 * sizeof(uint32_t), 0},
};

static uint32_t number_at(const struct nlattr *statistics, size_t offset)
{
	uint32_t number = 0;
	if (offset + sizeof(number) <= mnl_attr_get_payload_len(statistics))
		memcpy(&number, (const char *)mnl_attr_get_payload(statistics) + offset,
		       sizeof(number));
	return number;
}

// CAKE counts for each of its tins, in attributes nested three deep.
static uint32_t cake_marks(const struct nlattr *statistics)
{
	uint32_t marks = 0;
	const struct nlattr *part, *tin, *figure;
	mnl_attr_for_each_nested(part, statistics)
	{
		if (mnl_attr_get_type(part) != TCA_CAKE_STATS_TIN_STATS)
			continue;
		mnl_attr_for_each_nested(tin, part)
		{
			mnl_attr_for_each_nested(figure, tin)
			{
				if (mnl_attr_get_type(figure) ==
				    TCA_CAKE_TIN_STATS_ECN_MARKED_PACKETS)
					marks += number_at(figure, 0);
			}
		}
	}
	return marks;
}

uint32_t marks_of(const char *kind, const struct nlattr *statistics)
{
	if (strcmp(kind, "cake") == 0)
		return cake_marks(statistics);
	for (size_t i = 0; i < sizeof(LAYOUTS) / sizeof(LAYOUTS[0]); i++)
		if (strcmp(kind, LAYOUTS[i].kind) == 0)
			return number_at(statistics, LAYOUTS[i].offset) +
			       (LAYOUTS[i].second != 0 ? number_at(statistics, LAYOUTS[i].second)
						       : 0);
	return 0;
}
