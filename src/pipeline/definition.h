/* A definition of a pipeline in its compiled form: one block of memory, with indices instead of pointers,
 * at most three times as large as an ordinary text. Immutable, so several threads may read it.
 *
 * Components lie in one array, the children of a DAG side by side in the order of the text. Three of them
 * are no components of the text: DEFINITION_ROOT holds the entry points, DEFINITION_LIBRARY the library
 * ("components"), and DEFINITION_POST the post_process step. Ranges end where the range of the next
 * component begins; an element behind the last component ends the last range.
 *
 * The language: doc/reference/pipelines.md. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/json.h"
#include "pipeline/problem.h"
#include "pipeline/words.h"

enum {
        DEFINITION_ROOT = 0,
        DEFINITION_LIBRARY = 1,
        DEFINITION_POST = 2,
        DEFINITION_FIRST = 3, /* the first component of the text */
        DEFINITION_NONE = -1, /* as guint32: no component, no variable */

        DEFINITION_DEPTH_MAX = 100, /* nested DAGs, also through references */
        DEFINITION_COMPONENTS_MAX = 100 * 1000,
        DEFINITION_INSTANCES_MAX = 1000 * 1000, /* of a run, before loops */
        DEFINITION_VARIABLES_MAX = 10 * 1000,   /* parameters, variables and artifacts of one component */
        DEFINITION_REFERENCES_MAX = 100,        /* of a chain: a step that refers to one that refers to ... */
        DEFINITION_DISABLED_MAX = 10 * 1000,    /* paths of `disabled` */
        DEFINITION_PIECES_MAX = 4 * 1000 * 1000,
        DEFINITION_PARALLELISM = 10,
        DEFINITION_PARALLELISM_MAX = 20,
};

/* ---- texts with templates ---- */

typedef enum {
        PIECE_LITERAL,
        PIECE_TEMPLATE, /* before the checks */
        PIECE_SYSTEM,   /* `component` is a SystemVariable */
        PIECE_PARAMETER,
        PIECE_INPUT,
        PIECE_OUTPUT,
        PIECE_SIBLING_PARAMETER,
        PIECE_SIBLING_OUTPUT,
        PIECE_PARENT_PARAMETER,
        PIECE_PARENT_INPUT,
        PIECE_PARENT_LOOP, /* PF_PARENT.PF_LOOP_ARGUMENT */
        PIECE_CHILD_OUTPUT,
} PieceKind;

typedef struct {
        guint8 kind;       /* a PieceKind */
        bool last;         /* of its text */
        guint32 at, len;   /* the piece as it is written, in `texts` */
        guint32 part1;     /* text: the component of a template with two parts, or 0 */
        guint32 name;      /* text: the name in a template */
        guint32 component; /* the sibling or child; otherwise 0 */
} Piece;

typedef struct {
        guint32 text;   /* as it is written */
        guint32 pieces; /* index of the first piece, or 0: no templates */
} Text;

/* ---- values ---- */

typedef enum {
        VALUE_NONE, /* absent, or refused by a check */
        VALUE_INT,
        VALUE_FLOAT,
        VALUE_TEXT,
        VALUE_LIST,
} ValueKind;

typedef enum {
        TYPE_NONE, /* not declared */
        TYPE_STRING,
        TYPE_INT,
        TYPE_FLOAT,
        TYPE_PATH,
        TYPE_LIST,
        TYPE_UNKNOWN,
} ValueType;

typedef enum { ROLE_PARAMETER, ROLE_ENV, ROLE_INPUT, ROLE_OUTPUT, ROLE_ITEM } ValueRole;

/* A value; with a name, it is a variable of a component. */
typedef struct {
        guint8 kind;    /* a ValueKind */
        guint8 role;    /* a ValueRole */
        guint8 type;    /* a ValueType, of parameters */
        bool requested; /* the value comes from the request */
        guint32 name;   /* text; 0 for an item of a list */
        union {
                gint64 whole;
                double real;
                Text text;
                struct {
                        guint32 first, count; /* in `items` */
                } list;
        };
} Value;

/* ---- components ---- */

typedef struct {
        guint32 name; /* text */
        guint32 parent;
        guint32 children;     /* begin of the range in `components`; empty for a step */
        guint32 variables;    /* begin of the range in `variables` */
        guint32 dependencies; /* begin of the range in `links` */
        guint32 dependants;   /* begin of the range in `links` */
        Text command;
        guint32 image; /* text */
        guint32 extra; /* index in `extras`; 0: none of them is set */
        bool dag;
        bool disabled; /* wherever it is; through references: definition_is_disabled() */
        bool looks;    /* it has a condition */
        bool loops;
} Component;

typedef struct {
        guint32 name, mount_path, sub_path; /* texts */
        bool read_only;
} StepMount;

typedef struct {
        guint32 name, path; /* texts; an empty path is "/" */
} CacheScope;

typedef enum { CACHE_UNSET, CACHE_OFF, CACHE_ON } CacheEnable;

typedef struct {
        guint8 enable; /* a CacheEnable */
        bool expires;  /* max_expired_time is set */
        bool content;  /* fingerprint: content */
        bool has_fingerprint;
        gint64 expiry_s;          /* -1: never */
        guint32 scopes, n_scopes; /* range in `scopes` */
} CacheOptions;

/* What few components have. */
typedef struct {
        Text condition;
        Value loop;                    /* VALUE_LIST or VALUE_TEXT */
        guint32 reference;             /* the library component, or 0 */
        guint32 target;                /* that at the end of the chain of references, or 0 */
        guint32 package, requirements; /* texts, lines of requirements */
        guint32 mounts, n_mounts;      /* its own, before those of the definition */
        gint64 time_limit_ms;          /* 0: none */
        int retries;
        CacheOptions cache; /* its own */
} Extra;

typedef struct {
        const Component *components; /* n_components and one more, which ends the ranges */
        const Value *variables;
        const guint32
                *sorted; /* for each component with many variables, their indices by name: component_find() */
        const guint32
                *children_sorted; /* for each DAG with many children, these by name: component_child() */
        const Value *items;
        const Piece *pieces;
        const guint32 *links;
        const Extra *extras;
        const StepMount *mounts;
        const CacheScope *scopes;
        const guint32 *disabled; /* paths through references: definition_is_disabled() */
        const char *texts;
        guint32 n_components, n_items;
        guint32 name, image; /* texts */
        int parallelism;
        bool continues; /* failure strategy `continue` */
        bool has_main_fs;
        StepMount main_fs;
        guint32 extra_mounts, n_extra_mounts; /* of the definition */
        CacheOptions cache;                   /* of the definition */
        gsize size;                           /* of the block */
} Definition;
void definition_free(Definition *definition);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Definition, definition_free)

/* ---- from a text ---- */

/* What a request changes: doc/reference/pipelines.md, "Requests". NULL: not given. */
typedef struct {
        const char *name, *docker_env, *disabled, *failure_strategy;
        const char *fs_id, *fs_name;
        const char *fs_default;   /* the main file system of a definition that has artifacts and names none */
        const json_t *parameters; /* an object */
        bool json_body;           /* the text is the body of a run as JSON, with its spelling of keys */
        bool image_optional;      /* steps without an image are allowed */
        bool command_line;        /* messages name the options of `paddle pipeline` */
        bool warn;                /* also add warnings: what is valid, but cannot work */
        int parallelism_max;      /* 0: DEFINITION_PARALLELISM_MAX */
} DefinitionRequest;
/* From the JSON object that is kept with a run (engine.h, EngineRun); NULL: it changes nothing. Texts and parameters
 * are borrowed. Steps need no image. */
void definition_request_read(const json_t *request, DefinitionRequest *ret);

/* A definition that passed all checks. NULL if there are problems, which are all added to `problems`. */
Definition *definition_parse(const char *text, gsize len, const DefinitionRequest *request,
                             Problems *problems);

/* ---- reading ---- */

static inline const char *definition_text(const Definition *definition, guint32 text)
{
        return definition->texts + text;
}

static inline const char *component_name(const Definition *definition, guint32 component)
{
        return definition->texts + definition->components[component].name;
}

/* The values of a rare key; all zero if the component has none. */
static inline const Extra *component_extra(const Definition *definition, guint32 component)
{
        return &definition->extras[definition->components[component].extra];
}

/* The library component that a reference step stands for, through chains; other components are their own
 * target. */
guint32 component_target(const Definition *definition, guint32 component);

/* The child of a DAG, or of the target of a reference to one, with this name; 0: there is none. Takes about the same time
 * for any number of children. */
guint32 component_child(const Definition *definition, guint32 dag, const char *name);

/* The variable of this component (not of its target), or DEFINITION_NONE. `name` is the offset of a text. */
guint32 component_find(const Definition *definition, guint32 component, ValueRole role, guint32 name);

/* The environment variable of a step, or DEFINITION_NONE: its own, or that of DEFINITION_ROOT, whose variables all
 * steps share. Only the body of a run as JSON has such variables. */
guint32 component_env(const Definition *definition, guint32 step, guint32 name);

/* The parameter that counts: that of the nearest reference in the chain that has it. *ret_owner is the
 * component whose templates its value has. */
const Value *component_parameter(const Definition *definition, guint32 component, guint32 name,
                                 guint32 *ret_owner);

/* "entry_points.d.step", "components.c", "post_process.p"; the caller's. */
char *component_path(const Definition *definition, guint32 component);

/* True if this instance is disabled: the components from the top level down to it, as they are written
 * (references, not their targets). */
bool definition_is_disabled(const Definition *definition, const guint32 *chain, gsize n);

/* True if a step begins in the directory that is sent with the run: it has no package of its own. */
bool definition_uses_package(const Definition *definition);

/* The settings of a step with those of the definition merged. *ret_global: its scopes are followed by those
 * of the definition. */
CacheOptions component_cache(const Definition *definition, guint32 component, bool *ret_global);
