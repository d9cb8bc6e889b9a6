/* Drafts (see draft.h): texts and names of a definition while it is compiled, and its errors. */
#include "pipeline/draft.h"

#include <string.h>

#include "base/err.h"
#include "base/word.h"
#include "pipeline/template.h"

/* ---- errors ---- */

static char *path_of(const Draft *draft, guint32 component, const char *suffix)
{
        g_autofree char *path = NULL;

        if (component == (guint32)DEFINITION_NONE)
                return g_strdup(suffix ? suffix : "");
        path = component_path(&draft->definition, component);
        return suffix ? g_strconcat(path, ".", suffix, NULL) : g_steal_pointer(&path);
}

void draft_refuse(Draft *draft, ProblemClass class, guint32 node, guint32 component, const char *suffix,
                  const char *format, ...)
{
        const DocumentNode *at = node || class == PE_02 ? draft_node(draft, node) : NULL;
        va_list args;
        char *text;

        draft->stopped = draft->stopped || class == PE_35;
        if (draft->problems->n >= PROBLEMS_MAX) {
                draft->problems->n++;
                return;
        }
        va_start(args, format);
        text = g_strdup_vprintf(format, args);
        va_end(args);
        draft_look(draft);
        problems_add(draft->problems, class, at ? at->line : 0, at ? at->column : 0,
                     path_of(draft, component, suffix), text);
}

char *draft_nearest(const char *nearest)
{
        return nearest ? g_strdup_printf("\nDid you mean '%s'?", nearest) : g_strdup("");
}

enum { NEAREST_OF = 2000 }; /* names that are compared with a wrong one */

bool draft_gives_hints(const Draft *draft)
{
        return draft->problems->n < PROBLEMS_MAX && draft->comparisons > 0;
}

const char *draft_nearest_of(Draft *draft, const char *name, const char *const *list, guint n)
{
        if (!draft_gives_hints(draft))
                return NULL;
        draft->comparisons -= (int)n;
        return word_nearest(name, list);
}

const char *draft_nearest_child(Draft *draft, guint32 parent, const char *name)
{
        g_autoptr(GPtrArray) names = g_ptr_array_new();

        for (guint32 i = draft_component(draft, parent)->children;
             i < draft->components->len && names->len < NEAREST_OF && draft_gives_hints(draft); i++)
                if (draft_component(draft, i)->parent == parent)
                        g_ptr_array_add(names, draft->texts->str + draft_component(draft, i)->name);
                else
                        break;
        g_ptr_array_add(names, NULL);
        return draft_nearest_of(draft, name, (const char *const *)names->pdata, names->len);
}

const char *draft_nearest_variable(Draft *draft, guint32 component, guint roles, const char *name)
{
        g_autoptr(GPtrArray) names = g_ptr_array_new();
        guint32 end = draft_component(draft, component + 1)->variables;

        for (guint32 i = draft_component(draft, component)->variables;
             i < end && names->len < NEAREST_OF && draft_gives_hints(draft); i++)
                if (roles & (1U << draft_variable(draft, i)->role))
                        g_ptr_array_add(names, draft->texts->str + draft_variable(draft, i)->name);
        g_ptr_array_add(names, NULL);
        return draft_nearest_of(draft, name, (const char *const *)names->pdata, names->len);
}

/* ---- one mistake, one error ---- */

static guint64 *refused_of(const Draft *draft, guint32 component)
{
        return &g_array_index(draft->refused, guint64, component == (guint32)DEFINITION_NONE ? 0 : component);
}

void draft_mark_refused(Draft *draft, guint32 component, Key key)
{
        G_STATIC_ASSERT(KEYS <= 64);
        *refused_of(draft, component) |= (guint64)1 << key;
}

void draft_clear_refused(Draft *draft, guint32 component, Key key)
{
        *refused_of(draft, component) &= ~((guint64)1 << key);
}

void draft_mark_body(Draft *draft, guint32 component)
{
        *refused_of(draft, component) = G_MAXUINT64;
}

bool draft_is_refused(const Draft *draft, guint32 component, Key key)
{
        return *refused_of(draft, component) >> key & 1;
}

bool draft_lacks_artifacts(const Draft *draft, guint32 component)
{
        return draft_is_refused(draft, component, KEY_ARTIFACTS) ||
               draft_is_refused(draft, component, KEY_INPUT) ||
               draft_is_refused(draft, component, KEY_OUTPUT);
}

/* ---- the request in messages ---- */

static const struct {
        const char *path, *word, *option;
} request_parts[REQUEST_PARTS] = {
        [REQUEST_NAME] = { "name", "name in the request", "--name" },
        [REQUEST_IMAGE] = { "dockerEnv", "dockerEnv in the request", "--image" },
        [REQUEST_DISABLED] = { "disabled", "disabled in the request", "--disabled" },
        [REQUEST_STRATEGY] = { "failureOptions.strategy", "failureOptions in the request",
                               "failure_options" },
        [REQUEST_FS] = { "fsName", "fsName in the request", "--fs" },
        [REQUEST_PARAMETERS] = { "parameters", "parameters in the request", "-p" },
};

const char *draft_request_path(const Draft *draft, RequestPart part)
{
        return draft->request->command_line ? request_parts[part].option : request_parts[part].path;
}

const char *draft_request_word(const Draft *draft, RequestPart part)
{
        return draft->request->command_line ? request_parts[part].option : request_parts[part].word;
}

char *draft_request_parameter(const Draft *draft, const char *key)
{
        g_autofree char *shown = err_shown(key);

        return g_strdup_printf("%s%c%.128s", draft_request_path(draft, REQUEST_PARAMETERS),
                               draft->request->command_line ? ' ' : '.', shown);
}

/* ---- texts ---- */

guint32 draft_intern(Draft *draft, const char *text)
{
        gpointer known = NULL;
        guint32 offset = (guint32)draft->texts->len;

        if (!*text)
                return 0;
        if (g_hash_table_lookup_extended(draft->interned, text, NULL, &known))
                return GPOINTER_TO_UINT(known);
        g_string_append_len(draft->texts, text, (gssize)strlen(text) + 1);
        g_hash_table_insert(draft->interned, g_strdup(text), GUINT_TO_POINTER(offset));
        return offset;
}

guint32 draft_interned(const Draft *draft, const char *text)
{
        return GPOINTER_TO_UINT(g_hash_table_lookup(draft->interned, text));
}

static void add_piece(Draft *draft, Piece piece, gsize len)
{
        piece.len = (guint32)len;
        if (len)
                g_array_append_val(draft->pieces, piece);
}

static guint32 intern_part(Draft *draft, const char *text, gsize len)
{
        g_autofree char *part = text ? g_strndup(text, len) : NULL;

        return part ? draft_intern(draft, part) : 0;
}

Text draft_text(Draft *draft, const char *text)
{
        Text ret = { .text = draft_intern(draft, text) };
        const char *from = text;
        Template template;

        while (template_find(from, &template)) {
                if (draft->pieces->len >= DEFINITION_PIECES_MAX) {
                        draft->crowded = true;
                        return (Text){ 0 };
                }
                Piece piece = { .kind = PIECE_TEMPLATE, .at = ret.text + (guint32)(template.at - text) };

                if (!ret.pieces)
                        ret.pieces = draft->pieces->len;
                add_piece(draft, (Piece){ .at = ret.text + (guint32)(from - text) },
                          (gsize)(template.at - from));
                piece.part1 = intern_part(draft, template.part1, template.part1_len);
                piece.name = intern_part(draft, template.name, template.name_len);
                add_piece(draft, piece, template.len);
                from = template.at + template.len;
        }
        if (ret.pieces) {
                add_piece(draft, (Piece){ .at = ret.text + (guint32)(from - text) }, strlen(from));
                g_array_index(draft->pieces, Piece, draft->pieces->len - 1).last = true;
        }
        return ret;
}

/* ---- looking ---- */

#define DATA(array, type) ((const type *)(const void *)(array)->data)

void draft_look(Draft *draft)
{
        Definition *definition = &draft->definition;

        definition->components = DATA(draft->components, Component);
        definition->variables = DATA(draft->variables, Value);
        definition->items = DATA(draft->items, Value);
        definition->pieces = DATA(draft->pieces, Piece);
        definition->links = DATA(draft->links, guint32);
        definition->extras = DATA(draft->extras, Extra);
        definition->mounts = DATA(draft->mounts, StepMount);
        definition->scopes = DATA(draft->scopes, CacheScope);
        definition->disabled = DATA(draft->disabled, guint32);
        definition->sorted = DATA(draft->sorted, guint32);
        definition->texts = draft->texts->str;
}

guint draft_hash_pair(const void *key)
{
        guint64 pair = GPOINTER_TO_SIZE(key);

        return (guint)((pair * 0x9e3779b97f4a7c15ULL) >> 32);
}

guint32 draft_child(const Draft *draft, guint32 parent, guint32 name)
{
        gpointer child = NULL;

        if (!name ||
            !g_hash_table_lookup_extended(draft->by_name, GSIZE_TO_POINTER((gsize)parent << 32 | name), NULL,
                                          &child))
                return (guint32)DEFINITION_NONE;
        return GPOINTER_TO_UINT(child);
}

static int by_name(const void *a, const void *b, void *variables)
{
        const Value *one = &((const Value *)variables)[*(const guint32 *)a];
        const Value *two = &((const Value *)variables)[*(const guint32 *)b];

        if (one->name != two->name)
                return one->name < two->name ? -1 : 1;
        return (int)one->role - (int)two->role;
}

void draft_sort_variables(Draft *draft)
{
        guint32 n = draft->variables->len;
        guint32 *sorted;

        g_array_set_size(draft->sorted, n);
        sorted = (guint32 *)(void *)draft->sorted->data;
        for (guint32 i = 0; i < n; i++)
                sorted[i] = i;
        for (guint32 i = 0; i < draft->definition.n_components; i++) {
                guint32 from = draft_component(draft, i)->variables,
                        end = draft_component(draft, i + 1)->variables;

                if (end > from + 1)
                        g_qsort_with_data(sorted + from, (gint)(end - from), sizeof(guint32), by_name,
                                          draft->variables->data);
        }
}

guint32 *draft_keys(const Draft *draft, guint32 component)
{
        return &g_array_index(draft->keys, guint32, (gsize)component * KEYS);
}

bool draft_is_library(const Draft *draft, guint32 component)
{
        while (component >= DEFINITION_FIRST)
                component = draft_component(draft, component)->parent;
        return component == DEFINITION_LIBRARY;
}
