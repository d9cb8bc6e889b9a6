/* Documents (see document.h): what both readers share. document-yaml.c and document-json.c read the texts. */
#include "base/document.h"

#include <string.h>

#include "base/document-build.h"
#include "base/err.h"
#include "base/keyed-hash.h"

enum { KEYS_COMPARED = 16 }; /* keys of a map that are compared one by one */

const DocumentLimits document_limits = {
        .size = 16 * 1024 * 1024,
        .depth = 512,
        .nodes = 2 * 1000 * 1000,
        .alias_values = G_MAXUINT32,
        .alias_text = 16 * 1024 * 1024,
        .large_numbers = true,
        .first_document = true,
};

void document_free(Document *document)
{
        if (!document)
                return;
        g_free(document->nodes);
        g_free(document->texts);
        g_free(document);
}

#undef builder_refuse
bool builder_refuse(Builder *builder, DocumentPlace at, GError **error, const char *format, ...)
{
        g_autofree char *text = NULL;
        va_list args;

        va_start(args, format);
        text = g_strdup_vprintf(format, args);
        va_end(args);
        *builder->place = at;
        return err_set(error, ERR_INVALID, "%s", text);
}

bool builder_add(Builder *builder, DocumentNode node, DocumentPlace at, GError **error)
{
        if (builder->nodes->len >= builder->limits->nodes)
                return builder_refuse(builder, at, error, "more than %u values and keys",
                                      builder->limits->nodes);
        node.line = at.line;
        node.column = at.column;
        node.next = builder->nodes->len + 1;
        g_array_append_val(builder->nodes, node);
        return true;
}

bool builder_open(Builder *builder, DocumentKind kind, DocumentPlace at, guint32 *ret, GError **error)
{
        if (builder->depth >= builder->limits->depth)
                return builder_refuse(builder, at, error, "nested deeper than %d", builder->limits->depth);
        *ret = builder->nodes->len;
        if (!builder_add(builder, (DocumentNode){ .kind = (guint8)kind }, at, error))
                return false;
        builder->depth++;
        builder->deepest = MAX(builder->deepest, builder->depth);
        return true;
}

void builder_close(Builder *builder, guint32 node, guint32 count)
{
        DocumentNode *opened = &g_array_index(builder->nodes, DocumentNode, node);

        opened->next = builder->nodes->len;
        opened->count = count;
        builder->depth--;
}

guint32 builder_text(Builder *builder, const char *text, gsize len)
{
        gsize offset = builder->texts->len;

        if (len == 0)
                return 0;
        g_string_append_len(builder->texts, text, (gssize)len);
        g_string_append_c(builder->texts, '\0');
        return (guint32)offset;
}

/* ---- unique keys ---- */

void keys_clear(Keys *keys)
{
        g_clear_pointer(&keys->names, g_hash_table_unref);
}

/* Walks over the keys that the map has so far. */
static bool is_compared(const Keys *keys, const Builder *builder, const char *name)
{
        const DocumentNode *nodes = (const DocumentNode *)(const void *)builder->nodes->data;
        guint32 at = keys->map + 1;

        for (guint32 i = 0; i < keys->n; i++, at = nodes[at + 1].next)
                if (strcmp(builder->texts->str + nodes[at].text, name) == 0)
                        return true;
        return false;
}

static void make_set(Keys *keys, const Builder *builder)
{
        const DocumentNode *nodes = (const DocumentNode *)(const void *)builder->nodes->data;
        guint32 at = keys->map + 1;

        keys->names = g_hash_table_new_full(keyed_hash, g_str_equal, g_free, NULL);
        for (guint32 i = 0; i < keys->n; i++, at = nodes[at + 1].next)
                g_hash_table_add(keys->names, g_strdup(builder->texts->str + nodes[at].text));
}

bool keys_add(Keys *keys, Builder *builder, const char *name, DocumentPlace at, GError **error)
{
        bool twice;

        if (keys->n == KEYS_COMPARED)
                make_set(keys, builder);
        twice = keys->names ? !g_hash_table_add(keys->names, g_strdup(name))
                            : is_compared(keys, builder, name);
        keys->n++;
        if (!twice)
                return true;
        *builder->place = at;
        return err_set(error, ERR_INVALID, "the key '%.64s' is given twice", name);
}

/* ---- places, and looking up ---- */

DocumentPlace document_place_of(const char *text, const char *at)
{
        DocumentPlace place = { 1, 1 };

        for (; text < at; text++) {
                if (*text == '\n')
                        place = (DocumentPlace){ place.line + 1, 1 };
                else if (((guchar)*text & 0xc0) != 0x80) /* not inside of a character */
                        place.column++;
        }
        return place;
}

guint32 document_get(const Document *document, guint32 map, const char *name)
{
        const DocumentNode *nodes = document->nodes;

        if (nodes[map].kind != DOCUMENT_MAP)
                return 0;
        for (guint32 key = map + 1; key < nodes[map].next; key = nodes[key + 1].next)
                if (strcmp(document_text(document, key), name) == 0)
                        return key + 1;
        return 0;
}

Document *document_parse(const char *text, gsize len, const DocumentLimits *limits, DocumentPlace *ret_place,
                         GError **error)
{
        gsize blank = 0;

        while (blank < len && g_ascii_isspace(text[blank]))
                blank++;
        return (blank < len && text[blank] == '{' ? document_parse_json
                                                  : document_parse_yaml)(text, len, limits, ret_place, error);
}

/* ---- begin and end ---- */

bool builder_begin(Builder *builder, const char *text, gsize len, GError **error)
{
        const char *end;

        *builder->place = (DocumentPlace){ 0 };
        if (len > builder->limits->size)
                return err_set(error, ERR_TOO_LARGE, "larger than %" G_GSIZE_FORMAT " bytes",
                               builder->limits->size);
        if (!g_utf8_validate(text, (gssize)len, &end)) {
                *builder->place = document_place_of(text, end);
                return err_set(error, ERR_INVALID, "not UTF-8 text");
        }
        builder->nodes = g_array_new(FALSE, TRUE, sizeof(DocumentNode));
        builder->texts = g_string_sized_new(len + 1);
        g_string_append_c(builder->texts, '\0');
        return true;
}

Document *builder_end(Builder *builder, bool ok)
{
        Document *document = ok ? g_new0(Document, 1) : NULL;

        if (document) {
                document->n_nodes = builder->nodes->len;
                document->nodes = (DocumentNode *)(void *)g_array_free(builder->nodes, FALSE);
                document->texts = g_string_free(builder->texts, FALSE);
                return document;
        }
        if (builder->nodes)
                g_array_unref(builder->nodes);
        if (builder->texts)
                g_string_free(builder->texts, TRUE);
        return NULL;
}
