/* Fields: options of a command line that set members of an object's JSON. A list of fields is one table,
 * written as a macro of rows. The macro produces both the options of a verb and the rules for their values:
 *
 *     #define QUEUE_FIELDS(ROW)                                                              \
 *             ROW(0, "max", AMOUNTS, "max", "cpu=N,...", "the most that it may use at once")
 *
 *     static const Option options[] = { QUEUE_FIELDS(FIELD_OPTION) COMMON_OPTIONS, { 0 } };
 *     static const Field fields[] = { QUEUE_FIELDS(FIELD_ROW) { 0 } };
 *
 * The number is the row's index in FieldTarget.slot. */
#pragma once

#include "cli/cli.h"

typedef enum {
        FIELD_TEXT,    /* "" means null: back to the default */
        FIELD_NUMBER,  /* a whole number, with or without sign */
        FIELD_SWITCH,  /* --name, --no-name */
        FIELD_AMOUNTS, /* "cpu=4,memory=8Gi" as an object; "cpu=" and "" mean null */
        FIELD_LABELS,  /* repeatable "K=V" as an object */
        FIELD_WORDS,   /* "a,b" as an array */
        FIELD_SECRET,  /* text, or the contents of a file named after '@', in base64 */
        FIELD_FILE,    /* the contents of a file, in base64 */
        FIELD_TYPES,
} FieldType;

typedef union {
        char *text;
        int flag;
        GPtrArray *list;
} FieldSlot;

typedef struct {
        const char *option; /* NULL ends the table */
        FieldType type;
        const char *member;
} Field;

enum { FIELDS_MAX = 24 };

/* The target of such options: the target of a verb begins with one. */
typedef struct {
        Common common;
        FieldSlot slot[FIELDS_MAX];
} FieldTarget;

#define FIELD_AS_TEXT OPTION_STRING
#define FIELD_AS_NUMBER OPTION_STRING
#define FIELD_AS_SWITCH OPTION_SWITCH
#define FIELD_AS_AMOUNTS OPTION_STRING
#define FIELD_AS_LABELS OPTION_LIST
#define FIELD_AS_WORDS OPTION_STRING
#define FIELD_AS_SECRET OPTION_STRING
#define FIELD_AS_FILE OPTION_STRING

/* clang-format off */
#define FIELD_OPTION(place, name, type, member, arg, help)                                                   \
        { name, 0, FIELD_AS_##type, offsetof(FieldTarget, slot) + (place) * sizeof(FieldSlot), arg, help },
/* clang-format on */
#define FIELD_ROW(place, name, type, member, arg, help) { name, FIELD_##type, member },

/* Sets the members of the given options. ERR_USAGE names the option. *ret_any: whether any was given. */
bool fields_put(const Field *fields, const FieldTarget *target, json_t *body, bool *ret_any, GError **error);

/* "cpu=4,memory=8Gi" as an object of quantities; "cpu=" is null. ERR_USAGE naming `what`. */
json_t *amounts_parse(const char *what, const char *text, GError **error);

/* "K=V" added to the object. ERR_USAGE naming `what`. */
bool label_put(json_t *object, const char *what, const char *text, GError **error);
