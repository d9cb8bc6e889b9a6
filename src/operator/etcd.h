/* One key of etcd at a time, over its JSON interface (v3), for elastic jobs. Calls are made on a thread of
 * its own and answered on the main context that was current at etcd_new. */
#pragma once

#include <glib.h>

typedef struct Etcd Etcd;

/* `endpoints`: "http://a:2379,http://b:2379", tried in this order, one that failed not again for 10 s;
 * without a scheme: http. ERR_INVALID for what is no URL. */
Etcd *etcd_new(const char *endpoints, GError **error);
void etcd_free(Etcd *etcd); /* no answer comes any more; waits for the request under way (3 s of silence) */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Etcd, etcd_free)

/* Reads nothing more: etcd_get that wait, and those still to come, fail with ERR_UNAVAILABLE as soon as the
 * request under way has ended. NULL is a no-op. */
void etcd_stop(Etcd *etcd);

/* value: borrowed, NULL when there is no such key. */
typedef void (*EtcdDone)(const char *value, const GError *error, void *arg);
void etcd_get(Etcd *etcd, const char *key, EtcdDone done, void *arg);
void etcd_put(Etcd *etcd, const char *key, const char *value, EtcdDone done, void *arg);
