#include "net/lowwater.h"

#include "base/clock.h"
#include "base/number.h"

#define LOW_WATER_MAX   (UINT64_C(4) << 20)
#define WINDOW_FRACTION 128
#define ROOM_FRACTION   8
#define SPARE_FRACTION  4

uint64_t low_water_choose(const struct low_water_input *input)
{
	/* Half the buffer is the window that Linux promises at the least. */
	uint64_t window = input->window_bytes;
	if (window < input->rcvbuf_bytes / 2)
		window = input->rcvbuf_bytes / 2;
	uint64_t floor = number_least(window / WINDOW_FRACTION, LOW_WATER_MAX);
	uint64_t ceiling = number_least(window / ROOM_FRACTION, LOW_WATER_MAX);
	if (floor == 0)
		floor = 1;
	if (input->elapsed_ns == 0 || input->rtt_us == 0)
		return floor;
	double in_flight = (double)input->bytes / (double)input->elapsed_ns *
			   (double)input->rtt_us * (double)NS_PER_US;
	if (in_flight >= (double)window)
		return floor;
	uint64_t mark = (window - (uint64_t)in_flight) / SPARE_FRACTION;
	if (mark < floor)
		return floor;
	return mark < ceiling ? mark : ceiling;
}
