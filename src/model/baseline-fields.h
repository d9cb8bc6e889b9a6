/* The fields of a pod that a user's template may set (see baseline.h), as a tree of tables. A field that is
 * not in its table is refused. */
#pragma once

#include <stdbool.h>

#include "base/json.h"

/* The cluster where the pods will be. Borrowed. */
typedef struct {
        const json_t *volumes; /* volumes of homes, as in the setting; or NULL */
        const json_t *allow; /* the setting's `allow`: lists with which an administrator widens the tables; or
                           NULL */
        bool volcano;        /* Volcano schedules the pods */
        bool chosen;         /* see BaselinePlace */
} Fence;

typedef enum {
        FIELD_PLAIN,  /* a text, a number, true or false */
        FIELD_PLAINS, /* a list of these */
        FIELD_MAP,    /* an object of these: its keys are checked, its values are not */
        FIELD_OBJECT, /* an object with a table of its own */
        FIELD_LIST,   /* a list of objects with a table */
        FIELD_ANY,    /* any value */
        FIELD_NEVER,
} FieldShape;

typedef struct Field Field;
struct Field {
        const char *name; /* NULL ends a table; "*": any other name that is in the setting's list */
        FieldShape shape;
        const Field *fields; /* of FIELD_OBJECT and of each item of FIELD_LIST */

        /* A value is allowed if one of these allows it. Of PLAINS and LIST each item is checked, of MAP each
         * key. Without any of them all values are allowed. */
        const char *const *words;
        const char *list; /* name of a list of the setting's `allow` */
        bool (*may)(const Fence *fence, const json_t *value);

        const char *what; /* subject of the sentence that refuses a value; NULL: "this value" */
};

extern const Field baseline_pod[];

/* True if the list of the setting's `allow` contains the text. */
bool fence_lists(const Fence *fence, const char *list, const char *text);

/* True if a user may set this key of labels or annotations. Keys with a prefix address software of the
 * cluster (meshes, networks, clouds), and most of them are refused. */
bool fence_has_key(const Fence *fence, const char *key);
