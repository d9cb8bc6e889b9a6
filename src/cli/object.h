/* Objects of the catalog: queues, flavours, clusters, users, grants, file systems. One implementation of list,
 * show, create, set and delete for all of them. A Kind is the row that describes one, an Act the parameters
 * of one verb (Verb.row). The rows are in kinds.c. */
#pragma once

#include "cli/field.h"
#include "cli/listing.h"

typedef struct {
        FieldTarget fields; /* must be first */
        char *format;
        char *user; /* of objects that belong to a user: whose; NULL: the caller's */
        gint64 limit;
        bool what_if, password, from_stdin;
} ObjectTarget;

typedef struct Kind {
        const char *word; /* "queue" */
        const char *path; /* "/v1/queues" */
        const Column *columns;
        const Field *fields;
        char *(*name)(char *const *words);                               /* NULL: the first word */
        bool (*begin)(json_t *body, char *const *words, GError **error); /* of a POST; NULL: {"name": word} */
        void (*show)(Cli *cli, json_t *object); /* prints members and removes them from the object; or NULL */
        bool (*after_set)(Cli *cli, const ObjectTarget *target, const char *name, bool any, GError **error);
        const char *empty; /* message for an empty list */
} Kind;

typedef struct {
        const Kind *kind;
        const char *member; /* for an act such as `close`: this member ... */
        bool value;         /* ... gets this value, ... */
        const char *said;   /* ... and this is printed: "takes no new jobs" */
} Act;

bool object_list(Cli *cli, const void *target, char *const *words, GError **error);
bool object_show(Cli *cli, const void *target, char *const *words, GError **error);
bool object_create(Cli *cli, const void *target, char *const *words, GError **error);
bool object_set(Cli *cli, const void *target, char *const *words, GError **error);
bool object_delete(Cli *cli, const void *target, char *const *words, GError **error);
bool object_switch(Cli *cli, const void *target, char *const *words, GError **error); /* Act.member */

/* Prints "label   value" lines of an object's members, without empty ones. */
void members_print(const json_t *object);
