/* How many connections a server has, and who may have one more: bounded in all and for each holder (peer.h),
 * and when all are taken, in favour of holders that have few. Decides only; its owner counts and cuts. Plain
 * data: no I/O, no clock. Not thread-safe. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "net/peer.h"

typedef struct Crowd Crowd;

typedef struct {
        gint64 max;                 /* connections served */
        gint64 kept;                /* of them for the Unix socket alone */
        gint64 own;                 /* of them for one holder */
        gint64 told;                /* connections above these limits that are let in, to be told so */
        const char *const *proxies; /* addresses whose connections are many holders': no bound of their own.
                                       NULL: none */
} CrowdLimits;

typedef enum {
        CROWD_SERVED,
        CROWD_PROXY,    /* served, and no holder's */
        CROWD_OWN_FULL, /* let in to be told that its holder has as many as one may */
        CROWD_ALL_FULL, /* let in to be told that the server has as many as it takes */
        CROWD_DROPPED,
} CrowdPlace;

Crowd *crowd_new(const CrowdLimits *limits); /* borrows `proxies` */
void crowd_free(Crowd *crowd);               /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Crowd, crowd_free)

/* One more connection. For CROWD_SERVED with `*ret_instead_of` set, one of that holder's (which has more than
 * this one) is to be cut in its place; it leaves when it is gone. Borrowed until the next change. */
CrowdPlace crowd_enter(Crowd *crowd, const Peer *peer, const char **ret_instead_of);
void crowd_leave(Crowd *crowd, const Peer *peer, CrowdPlace place);
/* How many this peer's listener serves at most, for words. */
gint64 crowd_limit(const Crowd *crowd, bool local);
