/* Pods that ended by themselves are kept for people to look at until their job's time to live is over
 * (doc/reference/scheduling.md, "How long objects are kept"). This is the list of these pods and the times of
 * their deletion. Pure; the caller has the clock. It is not stored: after a restart the engine repeats the times
 * for the pods that are found. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct Kept Kept;

typedef struct {
        char *service;    /* name of the attempt's service (member.h) */
        char *namespace;  /* its namespace */
        GPtrArray *tasks; /* char */
} KeptAttempt;
void kept_attempt_free(KeptAttempt *attempt); /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(KeptAttempt, kept_attempt_free)

Kept *kept_new(void);
void kept_free(Kept *kept); /* NULL is a no-op */

/* The task's end is durable, and its pod exists. */
void kept_add(Kept *kept, const char *service, const char *namespace, const char *task);
/* The attempt has ended, and its pods are deleted at `until` (ms since 1970; G_MAXINT64: never, and they are
 * no longer tracked). False: there is nothing of it. */
bool kept_set(Kept *kept, const char *service, gint64 until);

/* Removes and returns an attempt whose time has come; the caller's; NULL: none. */
KeptAttempt *kept_take(Kept *kept, gint64 now);
/* When the next one is due, in ms since 1970; 0: there is none. */
gint64 kept_next(const Kept *kept);
