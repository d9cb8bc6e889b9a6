/* A definition while it is compiled and checked. Internal to pipeline/: compile*.c fill it, check-*.c read it.
 *
 * `definition` looks at the arrays; it is valid after draft_look() until the next change. */
#pragma once

#include "base/document.h"
#include "pipeline/definition.h"

typedef struct {
        const Document *document;
        const DefinitionRequest *request;
        Problems *problems;
        GArray *components, *variables, *items, *pieces, *links, *extras, *mounts, *scopes, *disabled;
        GArray *component_nodes;           /* guint32: the key of the component in the document, 0 for none */
        GArray *variable_nodes;            /* guint32: the key of the variable */
        GArray *mount_nodes, *scope_nodes; /* guint32: the item */
        GArray *keys;                      /* guint32: KEYS for each component, nodes of its values or 0 */
        GArray *stamps;                    /* guint32: for each component, the last one that depends on it */
        GArray *sorted, *children_sorted;  /* guint32: see Definition */
        GArray *refused; /* guint64: for each component, bits of the keys that have errors */
        GString *texts;
        GHashTable *interned;         /* char * -> offset in texts */
        GHashTable *by_name;          /* parent and name -> component */
        GHashTable *disabled_paths;   /* char * */
        GPtrArray *disabled_order;    /* the same, in the order of the text; borrowed from the table */
        GHashTable *checked_requests; /* char *: keys of the request's parameters whose value is checked */
        bool stopped;                 /* a limit is passed (PE-35) */
        bool crowded;                 /* more than DEFINITION_PIECES_MAX pieces */
        int comparisons;              /* of names that hints may still make */
        guint32 top[KEYS];            /* nodes of the top level's values, or 0 */
        guint32 cache_keys[KEYS], main_fs_keys[KEYS]; /* of the global maps */
        Definition definition;
} Draft;

/* ---- errors ---- */

/* Of a pointer that holds two numbers of 32 bits. */
guint draft_hash_pair(const void *key);

/* A problem at a node of the document (0: of the request). The path is that of the component, "." and
 * `suffix`; either may be missing: component DEFINITION_NONE, suffix NULL. */
void draft_refuse(Draft *draft, ProblemClass class, guint32 node, guint32 component, const char *suffix,
                  const char *format, ...) G_GNUC_PRINTF(6, 7);

/* Of a name of a parameter, artifact or variable (PE-06). */
#define DRAFT_NAME_FAULT                                                                                     \
        "'%.64s' is not a name\nUse at most 50 letters, digits and '_'; begin with a letter or '_'."

/* "\nDid you mean 'x'?", or "" if nothing is near; the caller's. */
char *draft_nearest(const char *nearest);

/* The nearest name of a child of `parent`, or of a variable; borrowed, NULL if none is near. Also NULL when the
 * error will not be kept, or when many names were compared already. */
const char *draft_nearest_child(Draft *draft, guint32 parent, const char *name);
const char *draft_nearest_variable(Draft *draft, guint32 component, guint roles, const char *name);
bool draft_gives_hints(const Draft *draft);
/* The nearest of a NULL-terminated list of n names. */
const char *draft_nearest_of(Draft *draft, const char *name, const char *const *list, guint n);

/* ---- one mistake, one error ---- */

/* A key whose value is refused, or that is misspelt, is treated as absent. What misses its value is then no error
 * of its own. Component DEFINITION_ROOT: the top level. */
void draft_mark_refused(Draft *draft, guint32 component, Key key);
void draft_clear_refused(Draft *draft, guint32 component, Key key);
bool draft_is_refused(const Draft *draft, guint32 component, Key key);
bool draft_lacks_artifacts(const Draft *draft, guint32 component); /* as far as they are refused */
void draft_mark_body(Draft *draft, guint32 component);             /* all keys of a component */

/* ---- the request in messages ---- */

typedef enum {
        REQUEST_NAME,
        REQUEST_IMAGE,
        REQUEST_DISABLED,
        REQUEST_STRATEGY,
        REQUEST_FS,
        REQUEST_PARAMETERS,
        REQUEST_PARTS,
} RequestPart;

/* The path of an error of the request: "fsName", or "--fs" on the command line. Static. */
const char *draft_request_path(const Draft *draft, RequestPart part);

/* For hints: "fsName in the request", or "--fs". Static. */
const char *draft_request_word(const Draft *draft, RequestPart part);

/* "parameters.KEY", or "-p KEY"; the caller's. */
char *draft_request_parameter(const Draft *draft, const char *key);

/* The type that the component declares for a parameter, or one that its references lead to; TYPE_NONE: none. */
ValueType draft_declared_type(const Draft *draft, guint32 component, const Value *parameter);

/* ---- building ---- */

guint32 draft_intern(Draft *draft, const char *text);
/* Of a text that is known; 0 if it is not. */
guint32 draft_interned(const Draft *draft, const char *text);
Text draft_text(Draft *draft, const char *text);
void draft_look(Draft *draft);
guint32 draft_child(const Draft *draft, guint32 parent, guint32 name);
guint32 *draft_keys(const Draft *draft, guint32 component);
void draft_sort_variables(Draft *draft); /* when all are there */

static inline const DocumentNode *draft_node(const Draft *draft, guint32 node)
{
        return &draft->document->nodes[node];
}

static inline Component *draft_component(const Draft *draft, guint32 i)
{
        return &g_array_index(draft->components, Component, i);
}

static inline Value *draft_variable(const Draft *draft, guint32 i)
{
        return &g_array_index(draft->variables, Value, i);
}

static inline guint32 draft_component_node(const Draft *draft, guint32 i)
{
        return g_array_index(draft->component_nodes, guint32, i);
}

static inline guint32 draft_variable_node(const Draft *draft, guint32 i)
{
        return g_array_index(draft->variable_nodes, guint32, i);
}

/* The value of a variable in the document; for a name in a list, the name. */
static inline guint32 draft_value_node(const Draft *draft, guint32 i)
{
        guint32 node = draft_variable_node(draft, i);

        return node + draft_node(draft, node)->key;
}

/* A step whose job has one member: it needs the step's image and command. Others get theirs from variables. */
bool draft_is_standalone(const Draft *draft, guint32 component);

/* True for a component in the library, at any level; `outer` for its first level. */
bool draft_is_library(const Draft *draft, guint32 component);

/* ---- the passes, in their order ---- */

void compile_definition(Draft *draft);                          /* compile.c: keys, types, settings */
void compile_component_values(Draft *draft, guint32 component); /* compile-values.c */
void compile_shared_env(Draft *draft);                          /* of DEFINITION_ROOT */
void compile_loop(Draft *draft, guint32 component, guint32 node, Extra *extra);
/* Why a list is no list of a parameter or loop ("a map"), or NULL. *ret_node: the item. */
const char *compile_list_fault(const Document *document, guint32 node, guint32 *ret_node);
bool compile_json_list(Draft *draft, const char *text, Value *ret); /* a JSON list in a text */
void check_references(Draft *draft);                                /* check-references.c */
void check_graph(Draft *draft);                                     /* check-graph.c */
void apply_request(Draft *draft);                                   /* override.c */
void apply_disabled(Draft *draft);                                  /* check-disabled.c */
void check_disabled(Draft *draft);
void check_environment(Draft *draft); /* check-environment.c: variables that all steps share */
void check_components(Draft *draft);  /* check-components.c: names, conditions, loops, values */
void check_post(Draft *draft);        /* check-post.c */
void check_files(Draft *draft);       /* check-files.c: cache, strategy, mounts */
void add_warnings(Draft *draft);      /* warnings.c: of a definition without errors */
