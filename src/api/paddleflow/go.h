/* Bodies of requests as Go's encoding/json takes them (doc/reference/paddleflow-api.md, "Bodies of
 * requests"): members are told apart by their letters alone, null leaves the default, what is unknown is left
 * out, and a wrong type is an error. A body is decoded by a table of its members, which the description of
 * the interface is drawn from, too. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/json.h"

typedef enum {
        GO_STRING,
        GO_INT,
        GO_BOOL,
        GO_NUMBER,  /* of replies */
        GO_OBJECT,  /* any members: kept as they are */
        GO_MAP,     /* text by text */
        GO_LIST,    /* of texts */
        GO_STRUCT,  /* `fields` */
        GO_STRUCTS, /* a list of such */
        GO_ANY,
        GO_TYPES,
} GoType;

typedef struct GoField GoField;
struct GoField {
        const char *name; /* NULL ends a table */
        GoType type;
        const GoField *fields;
        bool needed; /* for the description alone: who decodes decides by what is there */
};

/* One JSON value; of equal members the last counts. ERR_INVALID. */
json_t *go_parse(const char *text, gsize len, GError **error);
/* A new object with the members of `fields` that `object` has, under their own names; what is null is left
 * out, and null instead of an object has no members. ERR_INVALID names the member and its type. */
json_t *go_decode(const json_t *object, const GoField *fields, GError **error);
/* Cuts off the blanks around its strings (not those within lists and objects), but for the member `name`. */
void go_trim(json_t *object, const char *name);
/* The member that Go would take for `name`: the one spelled so, else the last that differs in case only; NULL
 * when there is none, or null. Borrowed. */
const json_t *go_member(const json_t *object, const char *name);

/* Of what was decoded: "", 0, NULL when it is not there. Borrowed. */
const char *go_text(const json_t *object, const char *name);
