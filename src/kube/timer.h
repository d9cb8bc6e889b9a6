/* A timer on a GMainContext that can be set repeatedly. Private to kube/. */
#pragma once

#include <glib.h>

typedef struct KubeTimer KubeTimer;

/* Initially not set. `func` may free the timer. */
KubeTimer *kube_timer_new(GMainContext *context, void (*func)(void *arg), void *arg);
void kube_timer_free(KubeTimer *timer);
void kube_timer_set(KubeTimer *timer, gint64 ms);    /* from now; -1: unset */
void kube_timer_set_at(KubeTimer *timer, gint64 us); /* of the monotonic clock; 0: at once, -1: unset */
gint64 kube_timer_due_at(const KubeTimer *timer);
