/* Inside model/: the tables that describe the fields of the catalog's objects. */
#pragma once

#include "model/object.h"

typedef enum {
        FIELD_TEXT,   /* char *; "" is kept as NULL */
        FIELD_BOOL,   /* bool */
        FIELD_NOT,    /* bool; the API shows its negation */
        FIELD_EITHER, /* bool; the API shows words[0] for false, words[1] for true */
        FIELD_INT,    /* int, min..max */
        /* int, normal or above. The API shows a number and also reads a word */
        FIELD_PRIORITY,
        FIELD_WORD,   /* an enum; the API shows words[value] */
        FIELD_LIMITS, /* ResourceLimits */
        FIELD_LABELS, /* "K=V" list sorted by key; an object in the API */
        FIELD_PAIRS,  /* the same, in the order given */
        FIELD_LIST,   /* list of strings */
} FieldType;

enum {
        FIELD_SECRET = 1, /* never shown; the API shows only whether it is set: "has_NAME" */
        FIELD_FIXED = 2,  /* set by the server, never by a user */
        FIELD_ONCE = 4,   /* cannot be changed after the object is stored */
        FIELD_BLANK = 8,  /* a missing text is shown as "" */
};

typedef struct {
        const char *name; /* in /v1 and in the store */
        FieldType type;
        size_t offset;
        int flags;
        gint64 first, min, max;   /* of an int: default and range; of a text or of each item of a list: max
                                     bytes; of labels: max bytes of a value */
        const char *text;         /* default of a text */
        const char *const *words; /* NULL-terminated */
        bool (*check)(const char *what, const char *value, GError **error); /* checks a text or an item; or
                                                                               NULL */
        /* For a text that holds secrets, or NULL. `show` returns the text to display. `keep` returns the text
         * to store when `value`, possibly in the form that `show` gave it, replaces `was`. The caller's. */
        char *(*show)(const char *value);
        char *(*keep)(const char *value, const char *was);
        /* Of FIELD_PAIRS: whether the value of this key is a secret, which is shown as OBJECT_HIDDEN. A value in this form
         * keeps the earlier one. Or NULL. */
        bool (*is_secret)(const char *key);
} ObjectField;

typedef struct {
        const char *name;   /* "queue" */
        const char *prefix; /* prefix of ids */
        size_t size;
        const ObjectField *fields; /* ends with a NULL name */
        bool (*name_check)(const char *what, const char *name, GError **error);
} ObjectRow;

extern const ObjectRow user_row, grant_row, cluster_row, pool_row, queue_row, flavour_row, secret_row,
        filesystem_row;

const ObjectRow *object_row(ObjectKind kind);

extern const char *const quota_type_words[];

/* False with ERR_INVALID if `key` is not valid as the key of a label. */
bool label_key_check(const char *where, const char *key, GError **error);

/* The index of `word` in `words`, or -1. */
int word_find(const char *const *words, const char *word);
