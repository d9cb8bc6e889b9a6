/* The older client's commands (doc/reference/paddleflow-api.md, "The command line"): one row each says its
 * words, its request, and what of the reply is shown. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/json.h"

typedef enum {
        PADDLEFLOW_TEXT,
        PADDLEFLOW_INT,
        PADDLEFLOW_FLAG,
        PADDLEFLOW_MAP,        /* "a=b,c=d" as an object */
        PADDLEFLOW_MAP_TEXT,   /* the same as the JSON text of a query */
        PADDLEFLOW_PAIRS,      /* "a=b", may be repeated, as an object */
        PADDLEFLOW_WORDS,      /* "a,b" as a list */
        PADDLEFLOW_REPEATED,   /* may be repeated: "a,b" as text */
        PADDLEFLOW_FILE,       /* a local file, in base64 */
        PADDLEFLOW_CREDENTIAL, /* text, or the file of an absolute path, in base64 */
} PaddleFlowType;

/* A word or an option of a command. */
typedef struct {
        const char *name; /* a word's "QUEUENAME", an option's "maxsize"; NULL ends the list */
        const char *flag; /* an option's short form: "-m", "-mk"; or NULL */
        PaddleFlowType type;
        const char
                *key; /* member of the body ("maxResources.cpu"), or name in the query; NULL: is not sent */
        const char *help;
        bool required;                  /* an option without which there is no request */
        const char *fallback, *choices; /* "a|b" */
} PaddleFlowParam;

enum { PADDLEFLOW_PARAMS_MAX = 16 };

typedef struct {
        const char *head, *key; /* "a.b" goes deeper; head NULL ends the list */
        bool apart;             /* begins a table of its own, so that none grows too wide */
        bool base64;            /* is shown decoded */
} PaddleFlowColumn;

typedef enum { PADDLEFLOW_QUERY, PADDLEFLOW_BODY } PaddleFlowPlace;

typedef struct PaddleFlowCommand {
        const char *name, *help;
        const PaddleFlowParam *words, *options;
        const char *method, *path; /* "/queue/{0}": the first word; {1}: the second */
        PaddleFlowPlace place;
        const char *detail_path; /* instead, with the flag `detail`; or NULL */
        const char *fixed;       /* JSON of members that are always sent; or NULL */
        bool (*prepare)(json_t *body, char *const *words, GError **error); /* last hand at a body; or NULL */
        const char *items;               /* member with the rows; NULL: the reply is the one row */
        const PaddleFlowColumn *columns; /* NULL: nothing is shown but `done` */
        bool marker;
        const char *fields_option;                      /* option that names the columns to show; or NULL */
        json_t *(*rows)(json_t *reply, GError **error); /* a list of rows made of the reply; or NULL */
        bool (*print)(json_t *reply, GError **error);   /* prints by itself; or NULL */
        const char *done;     /* "queue[{0}] create success"; {id} is a member of the reply */
        bool may_say_message; /* `message` in a reply is no failure */
} PaddleFlowCommand;

/* The groups and what they are for, in the order of the help. The last one, "", has the commands without a group. */
typedef struct {
        const char *name, *help;
        const PaddleFlowCommand *commands; /* ended by a row without name */
} PaddleFlowGroup;
extern const PaddleFlowGroup paddleflow_groups[]; /* ended by a row without name */
