/* The C library waits for servers that do not answer, and nothing ends that. */
#include "net/resolve.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* A question in a thread of its own; whoever is the last to need it frees it. */
struct lookup {
	pthread_mutex_t mutex;
	bool left; /* nobody waits for the answer any more */
	bool done;
	int event_fd;
	char *host;
	char service[8];
	struct addrinfo hints;
	int status;
	struct addrinfo *list;
};

static void lookup_free(struct lookup *lookup)
{
	if (lookup->list != NULL)
		freeaddrinfo(lookup->list);
	if (lookup->event_fd >= 0)
		(void)close(lookup->event_fd);
	(void)pthread_mutex_destroy(&lookup->mutex);
	free(lookup->host);
	free(lookup);
}

static void *lookup_run(void *argument)
{
	struct lookup *lookup = argument;
	int status = getaddrinfo(lookup->host, lookup->service, &lookup->hints, &lookup->list);
	(void)pthread_mutex_lock(&lookup->mutex);
	lookup->status = status;
	lookup->done = true;
	bool left = lookup->left;
	if (!left)
		(void)eventfd_write(lookup->event_fd, 1);
	(void)pthread_mutex_unlock(&lookup->mutex);
	if (left)
		lookup_free(lookup);
	return NULL;
}

static struct lookup *lookup_start(const char *host, const char *service,
				   const struct addrinfo *hints)
{
	pthread_t thread;
	struct lookup *lookup = calloc(1, sizeof(*lookup));
	if (lookup == NULL)
		return NULL;
	(void)pthread_mutex_init(&lookup->mutex, NULL);
	lookup->hints = *hints;
	lookup->host = strdup(host);
	lookup->event_fd = eventfd(0, EFD_CLOEXEC);
	(void)snprintf(lookup->service, sizeof(lookup->service), "%s", service);
	if (lookup->host != NULL && lookup->event_fd >= 0 &&
	    pthread_create(&thread, NULL, lookup_run, lookup) == 0) {
		(void)pthread_detach(thread);
		return lookup;
	}
	lookup_free(lookup);
	return NULL;
}

/* False when one of the signals is pending that waiter_create has blocked: it stays so. */
static bool answer_await(const struct lookup *lookup)
{
	sigset_t set;
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGHUP);
	int signal_fd = signalfd(-1, &set, SFD_CLOEXEC);
	struct pollfd events[2] = {{.fd = lookup->event_fd, .events = POLLIN},
				   {.fd = signal_fd, .events = POLLIN}};
	while (poll(events, 2, -1) < 0 && errno == EINTR)
		;
	if (signal_fd >= 0)
		(void)close(signal_fd);
	return events[0].revents != 0;
}

/* As getaddrinfo(3); EAI_INTR when a signal came before the answer. */
static int answer_take(const char *host, const char *service, const struct addrinfo *hints,
		       struct addrinfo **list)
{
	struct lookup *lookup = lookup_start(host, service, hints);
	if (lookup == NULL)
		return EAI_MEMORY;
	bool came = answer_await(lookup);
	(void)pthread_mutex_lock(&lookup->mutex);
	lookup->left = !came;
	bool done = lookup->done;
	(void)pthread_mutex_unlock(&lookup->mutex);
	int status = came ? lookup->status : EAI_INTR;
	if (status == 0) {
		*list = lookup->list;
		lookup->list = NULL;
	}
	if (done)
		lookup_free(lookup);
	return status;
}

int net_resolve(const char *host, uint16_t port, int family, struct addrinfo **list,
		struct failure *failure)
{
	char service[8];
	struct addrinfo hints = {.ai_family = family,
				 .ai_socktype = SOCK_STREAM,
				 .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV |
					     (host == NULL ? AI_PASSIVE : 0)};
	(void)snprintf(service, sizeof(service), "%u", port);
	int status = getaddrinfo(host, service, &hints, list);
	if (status == EAI_NONAME && host != NULL) {
		hints.ai_flags &= ~AI_NUMERICHOST;
		status = answer_take(host, service, &hints, list);
	}
	if (status == EAI_INTR)
		return failure_set(failure, "interrupted while the address of '%s' was looked up",
				   host);
	if (status != 0)
		return failure_set(failure, "cannot find %s address of '%s': %s",
				   family == AF_INET    ? "an IPv4"
				   : family == AF_INET6 ? "an IPv6"
							: "the",
				   host != NULL ? host : "*", gai_strerror(status));
	return 0;
}
