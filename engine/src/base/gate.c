#include "base/gate.h"

#include "base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

struct gate {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	uint64_t start_ns;
	bool cancelled;
};

struct gate *gate_create(void)
{
	pthread_condattr_t attributes;
	struct gate *gate = calloc(1, sizeof(*gate));
	if (gate == NULL)
		return NULL;
	/* The clock that no administrator sets back. */
	if (pthread_condattr_init(&attributes) != 0 ||
	    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) != 0 ||
	    pthread_cond_init(&gate->changed, &attributes) != 0 ||
	    pthread_mutex_init(&gate->mutex, NULL) != 0) {
		free(gate);
		return NULL;
	}
	(void)pthread_condattr_destroy(&attributes);
	return gate;
}

void gate_destroy(struct gate *gate)
{
	if (gate == NULL)
		return;
	(void)pthread_cond_destroy(&gate->changed);
	(void)pthread_mutex_destroy(&gate->mutex);
	free(gate);
}

bool gate_open(struct gate *gate, uint64_t start_ns)
{
	(void)pthread_mutex_lock(&gate->mutex);
	bool first = gate->start_ns == 0;
	if (first)
		gate->start_ns = start_ns;
	(void)pthread_cond_broadcast(&gate->changed);
	(void)pthread_mutex_unlock(&gate->mutex);
	return first;
}

void gate_cancel(struct gate *gate)
{
	(void)pthread_mutex_lock(&gate->mutex);
	gate->cancelled = true;
	(void)pthread_cond_broadcast(&gate->changed);
	(void)pthread_mutex_unlock(&gate->mutex);
}

bool gate_wait(struct gate *gate, uint64_t *start_ns)
{
	(void)pthread_mutex_lock(&gate->mutex);
	while (gate->start_ns == 0 && !gate->cancelled)
		(void)pthread_cond_wait(&gate->changed, &gate->mutex);
	bool open = !gate->cancelled;
	*start_ns = gate->start_ns;
	(void)pthread_mutex_unlock(&gate->mutex);
	return open;
}

bool gate_sleep_until(struct gate *gate, uint64_t at_ns)
{
	struct timespec at = clock_timespec(at_ns);
	int status = 0;
	(void)pthread_mutex_lock(&gate->mutex);
	while (!gate->cancelled && status != ETIMEDOUT)
		status = pthread_cond_timedwait(&gate->changed, &gate->mutex, &at);
	bool reached = !gate->cancelled;
	(void)pthread_mutex_unlock(&gate->mutex);
	return reached;
}

uint64_t gate_start_ns(struct gate *gate)
{
	(void)pthread_mutex_lock(&gate->mutex);
	uint64_t start_ns = gate->start_ns;
	(void)pthread_mutex_unlock(&gate->mutex);
	return start_ns;
}
