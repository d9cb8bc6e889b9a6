/* Texts for people (see shown-text.h). Which names are generated: doc/internals/pipelines.md, "Pipelines described in Python". */
#include "pipeline/shown-text.h"

#include <string.h>

#include "base/text-cut.h"

/* The text behind one of the words; NULL: it begins with none. */
static const char *skip_word(const char *text, const char *const *words)
{
        for (; *words; words++)
                if (g_str_has_prefix(text, *words))
                        return text + strlen(*words);
        return NULL;
}

/* "condition_param_7bp5h4..." */
static bool is_generated(const char *name)
{
        static const char *const users[] = { "command_", "env_", "condition_", "loop_", "dsl_", NULL };
        static const char *const kinds[] = { "param_", "art_", NULL };
        enum { CODE_MAX = 25 }; /* 128 bits in base 36 */
        const char *rest = skip_word(name, users), *code = rest ? skip_word(rest, kinds) : NULL;
        gsize len = code ? strlen(code) : 0;

        return len > 0 && len <= CODE_MAX && strspn(code, "0123456789abcdefghijklmnopqrstuvwxyz") == len;
}

/* The role of a variable that a piece reads in *component, which becomes the DAG around it if it is that one's. */
static bool read_role(const Definition *definition, const Piece *piece, guint32 *component, ValueRole *ret)
{
        bool around = piece->kind == PIECE_PARENT_PARAMETER || piece->kind == PIECE_PARENT_INPUT;

        if (!around && piece->kind != PIECE_PARAMETER && piece->kind != PIECE_INPUT)
                return false;
        if (around)
                *component = definition->components[*component].parent;
        *ret = piece->kind == PIECE_PARAMETER || piece->kind == PIECE_PARENT_PARAMETER ? ROLE_PARAMETER
                                                                                       : ROLE_INPUT;
        return true;
}

/* The template that gives a generated variable its value; NULL: the piece reads no such variable. */
static const Piece *step_back(const Definition *definition, const Piece *piece, guint32 *component)
{
        const Value *value;
        ValueRole role;
        guint32 found;

        if (!is_generated(definition_text(definition, piece->name)) ||
            !read_role(definition, piece, component, &role))
                return NULL;
        found = component_find(definition, *component, role, piece->name);
        if (found == (guint32)DEFINITION_NONE)
                return NULL;
        value = &definition->variables[found];
        if (value->kind != VALUE_TEXT || !value->text.pieces)
                return NULL;
        piece = &definition->pieces[value->text.pieces];
        return piece->last && piece->kind != PIECE_LITERAL ? piece : NULL;
}

static const Piece *origin(const Definition *definition, const Piece *piece, guint32 component)
{
        const Piece *before = piece;

        for (int depth = 0; before && depth < DEFINITION_DEPTH_MAX; depth++) {
                piece = before;
                before = piece->kind == PIECE_LITERAL ? NULL : step_back(definition, piece, &component);
        }
        return piece;
}

char *text_shown(const Definition *definition, guint32 component, Text text, gsize max)
{
        GString *out = g_string_new(NULL);
        const Piece *piece = text.pieces ? &definition->pieces[text.pieces] : NULL;

        if (!piece)
                g_string_append_len(out, definition_text(definition, text.text),
                                    (gssize)strnlen(definition_text(definition, text.text), max));
        for (bool last = !piece; !last && out->len < max; piece++) {
                const Piece *shown = origin(definition, piece, component);

                g_string_append_len(out, definition->texts + shown->at, (gssize)MIN(shown->len, max));
                last = piece->last;
        }
        g_string_truncate(out, text_whole_characters(out->str, out->len));
        return g_string_free(out, FALSE);
}
