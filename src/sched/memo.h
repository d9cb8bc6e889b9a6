/* A memo says for which input a remembered value was worked out. The value lives beside it.
 *
 *      if (!memo_fresh(&group->judged, s->config_version)) {
 *              group->hopeless = judge(group);
 *              memo_keep(&group->judged, s->config_version);
 *      }
 *
 * The key is a number that differs whenever the input differs: a pass, a version, a time, the key of a job. Two
 * versions of 31 and 32 bits make one key with memo_pair. A value that stays right until an event makes it wrong
 * has the key MEMO_UNTIL_DROPPED; the event calls memo_drop.
 *
 * The one rule: a value may be used if its memo is fresh, which means that it was kept for the same key and was not
 * dropped since. A zeroed memo is not fresh for any key. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* 8 bytes: there are several for each group of waiting jobs. One comparison says whether it is fresh. */
typedef struct {
        guint64 stamp; /* the key, and in the lowest bit whether it is valid */
} Memo;

enum { MEMO_UNTIL_DROPPED = 0 };

/* For this key. The highest bit of a key does not count. */
static inline Memo memo_of(guint64 key)
{
        return (Memo){ key << 1 | 1 };
}

static inline bool memo_fresh(const Memo *memo, guint64 key)
{
        return memo->stamp == memo_of(key).stamp;
}

static inline void memo_keep(Memo *memo, guint64 key)
{
        *memo = memo_of(key);
}

/* For some key: whether there is a value at all. */
static inline bool memo_is_kept(const Memo *memo)
{
        return memo->stamp != 0;
}

static inline void memo_drop(Memo *memo)
{
        memo->stamp = 0;
}

static inline guint64 memo_pair(guint32 high, guint32 low)
{
        return (guint64)high << 32 | low;
}
