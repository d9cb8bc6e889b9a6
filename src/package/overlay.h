/* Laying a tree that a user's program has made over a tree that a server makes. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

#include "storage/ledger.h"

enum { OVERLAY_FILES_MAX = 20000, OVERLAY_DEPTH_MAX = 64 };
#define OVERLAY_BYTES_MAX (G_GINT64_CONSTANT(4) << 30)

typedef struct {
        uid_t owner;      /* of all that is in the tree; -1: anybody */
        Ledger *ledger;   /* NULL: without limits */
        const char *user; /* whom the copy counts to there, for as long as it is being made */
} OverlayFor;

/* Copies what is in `made` into `dest`, where it wins over what is there; directories are merged. Nothing of
 * `made` is trusted, and it may change meanwhile: no link is followed, devices, pipes and files of somebody
 * else than the owner are refused, links may only point to places inside, modes become 755 and 644, and above
 * the limits it ends. Holes stay holes, and count to nobody. Work that may be given up (base/cancel.h).
 * `dest` is the caller's alone. ERR_INVALID, ERR_TOO_LARGE and ERR_DENIED name the entry; ERR_NOT_FOUND:
 * `made` is not there; ERR_QUOTA: the user may not hold so much. */
bool overlay_copy(const char *made, const char *dest, const OverlayFor *whose, GError **error);
