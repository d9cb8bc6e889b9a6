/* A few threads for what takes longer than an HTTP worker may: password hashes, questions to a copy of the
 * scheduler. Bounded: what does not fit into its line is refused at once, and its caller answers 503. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct Crew Crew;

/* Runs once on a thread of the crew. `stopped`: it ends, only answer and free. */
typedef void (*CrewFunc)(bool stopped, void *arg);

/* `name` is for the refusal: "log-ins". Threads are started when there is work. */
Crew *crew_new(const char *name, int threads, int line_max);
/* What runs is waited for, what waits is called with `stopped`; later pushes are refused. */
void crew_stop(Crew *crew);
void crew_free(Crew *crew); /* stops it first; NULL is a no-op */

/* False with ERR_UNAVAILABLE when the line is full or it has stopped: func is not called. Any thread.
 */
bool crew_push(Crew *crew, CrewFunc func, void *arg, GError **error);
