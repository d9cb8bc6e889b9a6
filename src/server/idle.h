/* When a server that a command has started for one user may end by itself: after a time without open jobs,
 * running schedules and clients. A later command starts it again. Pure: observations and time are arguments. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct {
        gint64 open_jobs;   /* in any state that is not final */
        gint64 schedules;   /* that are running: each has a next time */
        gint64 connections; /* open ones: followers, `paddle top`, clients that keep theirs */
        gint64 requests;    /* answered since the start */
} IdleLook;

typedef struct {
        gint64 limit_ms; /* 0: never */
        gint64 since;    /* ms, monotonic: idle since then */
        gint64 requests; /* at the last call */
} Idle;

void idle_init(Idle *idle, gint64 limit_ms, gint64 now);
/* True: it has been idle for the limit. */
bool idle_look(Idle *idle, const IdleLook *seen, gint64 now);
/* The interval of calls, in ms. */
gint64 idle_step_ms(const Idle *idle);
