/* When a server of one person, which a command has started, may end by itself: after a time without open jobs
 * and without clients. A later command starts it again. Pure: what is seen comes in, with the time. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct {
        gint64 open_jobs;   /* in any state that is not final: held ones, those that wait for a time or others
                             */
        gint64 connections; /* open ones: followers, `paddle top`, a client that keeps one */
        gint64 requests;    /* answered since the start */
} IdleLook;

typedef struct {
        gint64 limit_ms; /* 0: never */
        gint64 since;    /* ms, monotonic: idle from then on */
        gint64 requests; /* at the last look */
} Idle;

void idle_init(Idle *idle, gint64 limit_ms, gint64 now);
/* True: it has been idle for the limit. */
bool idle_look(Idle *idle, const IdleLook *seen, gint64 now);
/* How often to look, in ms. */
gint64 idle_step_ms(const Idle *idle);
