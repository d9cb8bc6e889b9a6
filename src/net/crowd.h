/* Limits on connections: in all, and for each holder (peer.h). When all are in use, holders with few
 * connections are preferred. It only decides; its owner counts and closes connections. Plain data: no I/O, no
 * clock. Not thread-safe. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "net/peer.h"

typedef struct Crowd Crowd;

typedef struct {
        gint64 max;                 /* connections served */
        gint64 kept;                /* of these, reserved for the Unix socket */
        gint64 own;                 /* of these, for one holder */
        gint64 told;                /* connections above these limits that are accepted to be told about it */
        const char *const *proxies; /* addresses of proxies, whose connections belong to many holders: they
                                       have no limit of their own. NULL: none */
} CrowdLimits;

typedef enum {
        CROWD_SERVED,
        CROWD_PROXY,    /* served, and counted for no holder */
        CROWD_OWN_FULL, /* accepted, to be told that its holder has reached its limit */
        CROWD_ALL_FULL, /* accepted, to be told that the server has reached its limit */
        CROWD_DROPPED,
} CrowdPlace;

Crowd *crowd_new(const CrowdLimits *limits); /* borrows `proxies` */
void crowd_free(Crowd *crowd);               /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Crowd, crowd_free)

/* Adds a connection. For CROWD_SERVED with `*ret_instead_of` set, the caller closes one connection of that
 * holder, which has more than this one; that connection leaves when it is gone. Borrowed until the next
 * change. */
CrowdPlace crowd_enter(Crowd *crowd, const Peer *peer, const char **ret_instead_of);
void crowd_leave(Crowd *crowd, const Peer *peer, CrowdPlace place);
/* The limit of connections of this peer's listener, for messages. */
gint64 crowd_limit(const Crowd *crowd, bool local);
