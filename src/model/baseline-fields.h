/* The fields of a pod that the template of a user may set (see baseline.h), as a tree of tables. A field that
 * is not in its table is refused. */
#pragma once

#include <stdbool.h>

#include "base/json.h"

/* Of the cluster where the pods will be. Borrowed. */
typedef struct {
        const json_t *volumes; /* of homes, as the setting has them; or NULL */
        const json_t
                *allow; /* the setting's `allow`: by what lists an administrator widens the tables; or NULL */
        bool volcano;   /* Volcano places pods */
        bool chosen;    /* see BaselinePlace */
} Fence;

typedef enum {
        FIELD_PLAIN,  /* a text, a number, true or false */
        FIELD_PLAINS, /* a list of these */
        FIELD_MAP,    /* an object of these: its keys are checked, its values are free */
        FIELD_OBJECT, /* an object with a table of its own */
        FIELD_LIST,   /* a list of objects with a table */
        FIELD_ANY,    /* whatever is in it */
        FIELD_NEVER,
} FieldShape;

typedef struct Field Field;
struct Field {
        const char *name; /* NULL ends a table; "*": any other, where its name is in the setting's list */
        FieldShape shape;
        const Field *fields; /* of FIELD_OBJECT and of each item of FIELD_LIST */

        /* A value (of PLAINS and LIST each item, of MAP each key) is allowed if one of these says so. Without
         * any of them all are. */
        const char *const *words;
        const char *list; /* of the setting's `allow` */
        bool (*may)(const Fence *fence, const json_t *value);

        const char *what; /* a refused value is, as a sentence's subject; NULL: "this value" */
};

extern const Field baseline_pod[];

/* True if the list of the setting's `allow` has the text. */
bool fence_lists(const Fence *fence, const char *list, const char *text);

/* Keys of labels and annotations: those with a prefix speak to what runs in the cluster (meshes, networks,
 * clouds), and most are not for users. */
bool fence_has_key(const Fence *fence, const char *key);
