/* Who gets the turn when several things are ready at once, and that nobody's turn is lost. */
#include "base/clock.h"
#include "base/waiter.h"
#include "check.h"

#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* A turn that is lost is waited for without end. */
#define LIMIT_S 10

struct scene {
	struct waiter *waiter;
	int event;
	unsigned events; /* how often there shall be one more */
	char turns[16];  /* who had them: e, t, s */
};

static void note(struct scene *scene, char who)
{
	size_t used = strlen(scene->turns);
	assert_true(used + 1 < sizeof(scene->turns));
	scene->turns[used] = who;
}

static bool on_event(void *context)
{
	eventfd_t value;
	struct scene *scene = context;
	note(scene, 'e');
	assert_int_equal(eventfd_read(scene->event, &value), 0);
	if (--scene->events > 0)
		assert_int_equal(eventfd_write(scene->event, 1), 0);
	return false;
}

static bool on_timer(void *context)
{
	note(context, 't');
	return true;
}

static bool on_signal(void *context)
{
	struct scene *scene = context;
	note(scene, 's');
	assert_int_equal(waiter_take_signal(scene->waiter), SIGHUP);
	return false;
}

/* The event is ready `events` times, the timer has gone off, and a signal has come. */
static struct scene scene_make(unsigned events)
{
	struct failure failure = {0};
	struct scene scene = {.events = events};
	scene.waiter = waiter_create(&failure);
	assert_non_null(scene.waiter);
	scene.event = eventfd(1, EFD_NONBLOCK);
	assert_true(scene.event >= 0);
	assert_int_equal(waiter_arm(scene.waiter, 1, &failure), 0);
	assert_int_equal(raise(SIGHUP), 0);
	(void)alarm(LIMIT_S);
	return scene;
}

static void scene_end(struct scene *scene)
{
	(void)alarm(0);
	waiter_destroy(scene->waiter);
	(void)close(scene->event);
}

static void the_first_that_is_ready_has_the_turn(void **state)
{
	struct failure failure = {0};
	struct scene scene = scene_make(3);
	const struct waiter_turn turns[] = {{SLOT_SIGNAL, -1, on_signal},
					    {SLOT_STREAMS, scene.event, on_event},
					    {SLOT_TIMER, -1, on_timer}};
	assert_int_equal(waiter_follow(scene.waiter, turns, 3, &scene, &failure), 0);
	assert_string_equal(scene.turns, "seeet");
	scene_end(&scene);
}

static void a_busy_one_at_the_end_keeps_nobody_waiting(void **state)
{
	struct failure failure = {0};
	struct scene scene = scene_make(1000);
	const struct waiter_turn turns[] = {{SLOT_TIMER, -1, on_timer},
					    {SLOT_STREAMS, scene.event, on_event}};
	assert_int_equal(waiter_follow(scene.waiter, turns, 2, &scene, &failure), 0);
	assert_string_equal(scene.turns, "t");
	scene_end(&scene);
}

/* A timer that is set anew, or stopped, has nothing to say of before. */
static void a_timer_that_is_set_anew_forgets(void **state)
{
	struct failure failure = {0};
	struct scene scene = scene_make(1);
	assert_int_equal(waiter_wait(scene.waiter, &failure), 0);
	assert_true(waiter_ready(scene.waiter, SLOT_TIMER));
	assert_int_equal(waiter_disarm(scene.waiter, &failure), 0);
	assert_int_equal(waiter_wait(scene.waiter, &failure), 0);
	assert_false(waiter_ready(scene.waiter, SLOT_TIMER));
	assert_int_equal(waiter_take_signal(scene.waiter), SIGHUP);
	uint64_t at_ns = clock_monotonic_ns() + 20 * NS_PER_MS;
	assert_int_equal(waiter_arm(scene.waiter, at_ns, &failure), 0);
	assert_int_equal(waiter_wait(scene.waiter, &failure), 0);
	assert_true(waiter_ready(scene.waiter, SLOT_TIMER));
	assert_true(clock_monotonic_ns() >= at_ns);
	scene_end(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_first_that_is_ready_has_the_turn),
	    cmocka_unit_test(a_busy_one_at_the_end_keeps_nobody_waiting),
	    cmocka_unit_test(a_timer_that_is_set_anew_forgets),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
