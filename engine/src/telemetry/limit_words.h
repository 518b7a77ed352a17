/* Made by `python -m landspeed.base.limits`, which has the meanings and the reasons. */
#pragma once

#define LARGE_SHARE       0.5
#define FULL_THREAD_SHARE 0.9
#define FULL_HOST_PERCENT 97.0
#define QUEUE_FACTOR      1.05
#define PACING_NEARNESS   0.1
#define WINDOW_NEARNESS   0.1

enum limit {
	LIMIT_PACING,
	LIMIT_RECEIVER_PROCESSOR,
	LIMIT_SENDER_PROCESSOR,
	LIMIT_WINDOW,
	LIMIT_SEND_BUFFER,
	LIMIT_APPLICATION,
	LIMIT_UNKNOWN,
};

/* clang-format off */
#define LIMIT_NAMES { \
	[LIMIT_PACING] = "pacing", \
	[LIMIT_RECEIVER_PROCESSOR] = "receiver processor", \
	[LIMIT_SENDER_PROCESSOR] = "sender processor", \
	[LIMIT_WINDOW] = "window", \
	[LIMIT_SEND_BUFFER] = "send buffer", \
	[LIMIT_APPLICATION] = "application", \
	[LIMIT_UNKNOWN] = "unknown", \
}
/* clang-format on */
