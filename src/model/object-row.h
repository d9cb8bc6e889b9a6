/* Inside model/: the tables that the objects of the catalog are drawn from. */
#pragma once

#include "model/object.h"

typedef enum {
        FIELD_TEXT,   /* char *; "" is kept as NULL */
        FIELD_BOOL,   /* bool */
        FIELD_NOT,    /* bool; outside the opposite is said */
        FIELD_EITHER, /* bool; outside words[0] for false, words[1] for true */
        FIELD_INT,    /* int, min..max */
        /* int, normal or above; outside a number, read as a word, too */
        FIELD_PRIORITY,
        FIELD_WORD,   /* an enum; outside words[value] */
        FIELD_LIMITS, /* ResourceLimits */
        FIELD_LABELS, /* "K=V" list sorted by key; outside an object */
        FIELD_PAIRS,  /* the same, in the order given */
        FIELD_LIST,   /* list of strings */
} FieldType;

enum {
        FIELD_SECRET = 1, /* never shown, only whether there is one: "has_NAME" */
        FIELD_FIXED = 2,  /* set by the server, never by a person */
        FIELD_ONCE = 4,   /* not changed once the object is stored */
        FIELD_BLANK = 8,  /* a text that is not there is shown as "" */
};

typedef struct {
        const char *name; /* in /v1 and in the store */
        FieldType type;
        size_t offset;
        int flags;
        gint64 first, min, max;   /* of an int: default and range; of a text or of each item: max bytes; of
                                     labels: max bytes of a value */
        const char *text;         /* default of a text */
        const char *const *words; /* NULL-terminated */
        bool (*check)(const char *what, const char *value, GError **error); /* a text, an item; or NULL */
        /* Of a text that holds secrets, or NULL: what is shown of it, and what is kept when `value` (perhaps
         * as it was shown) is said where `was` was; the caller's. */
        char *(*show)(const char *value);
        char *(*keep)(const char *value, const char *was);
} ObjectField;

typedef struct {
        const char *name;   /* "queue" */
        const char *prefix; /* of ids */
        size_t size;
        const ObjectField *fields; /* ends with a NULL name */
        bool (*name_check)(const char *what, const char *name, GError **error);
} ObjectRow;

extern const ObjectRow user_row, grant_row, cluster_row, pool_row, queue_row, flavour_row, secret_row;

const ObjectRow *object_row(ObjectKind kind);

extern const char *const quota_type_words[];

/* False with ERR_INVALID unless `key` may be the key of a label. */
bool label_key_check(const char *where, const char *key, GError **error);

/* The place of `word` in `words`, or -1. */
int word_find(const char *const *words, const char *word);
