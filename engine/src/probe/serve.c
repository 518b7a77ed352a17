#include "probe/serve.h"

bool serve_on_signal(void *context)
{
	struct receive_state *state = *(struct receive_state **)context;
	state->signal = waiter_take_signal(state->waiter);
	(void)failure_set(&state->failure, "the server was interrupted by %s",
			  signal_name(state->signal));
	return true;
}
