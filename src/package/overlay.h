/* Copies a tree that a user's program has created over a tree that a server creates. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

#include "storage/ledger.h"

enum { OVERLAY_FILES_MAX = 20000, OVERLAY_DEPTH_MAX = 64 };
#define OVERLAY_BYTES_MAX (G_GINT64_CONSTANT(4) << 30)

typedef struct {
        uid_t owner;      /* required owner of everything in the tree; -1: any */
        Ledger *ledger;   /* NULL: without limits */
        const char *user; /* the user to whom the copy is counted while it is being made */
} OverlayFor;

/* Copies the content of `made` into `dest`, where it replaces existing files; directories are merged. `made`
 * is untrusted and may change meanwhile. No link is followed. Devices, pipes and files of another owner are
 * refused. Links may only point inside. Modes become 755 and 644. Above the limits the copy fails. Holes stay
 * holes, and are not counted. The work can be cancelled (base/cancel.h). Only the caller uses `dest`.
 * ERR_INVALID, ERR_TOO_LARGE and ERR_DENIED name the entry; ERR_NOT_FOUND: `made` does not exist; ERR_QUOTA:
 * the user's limit is exceeded. */
bool overlay_copy(const char *made, const char *dest, const OverlayFor *whose, GError **error);
