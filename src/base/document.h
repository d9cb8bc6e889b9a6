/* A YAML or JSON text as an array of nodes with their places: for large texts whose errors must name a line and a
 * column. Bounded. Pure. base/yaml.h makes JSON values of it.
 *
 * Nodes lie in the order of the text. The children of a list or map follow it directly; a map's children are key and
 * value in turn; `next` is the index of the node after a node and all its children:
 *
 *     {a: [1, 2], b: x}      index  0 map   1 'a'  2 list  3 1  4 2  5 'b'  6 'x'
 *                            next   7       2      5       4    5    6      7
 *
 * Plain scalars follow the core schema of YAML 1.2. Keys are text and unique within their map. An alias stands for a
 * copy of its anchor's nodes, with the places of the anchor. No text contains a NUL. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef enum {
        DOCUMENT_NULL,
        DOCUMENT_BOOL,
        DOCUMENT_INT,
        DOCUMENT_FLOAT, /* finite */
        DOCUMENT_TEXT,
        DOCUMENT_LIST,
        DOCUMENT_MAP,
        DOCUMENT_KINDS,
} DocumentKind;

typedef struct {
        guint8 kind;          /* a DocumentKind */
        bool plain;           /* a YAML scalar without quotes */
        bool key;             /* a key of a map */
        guint32 line, column; /* from 1; columns count characters */
        guint32 next;
        union {
                bool yes;
                gint64 whole;
                double real;
                guint32 text;  /* offset in `texts` */
                guint32 count; /* items of a list, pairs of a map */
        };
} DocumentNode;

typedef struct {
        DocumentNode *nodes; /* nodes[0] is the value of the text */
        guint32 n_nodes;
        char *texts; /* NUL-terminated texts, one after another; the first is "" */
} Document;
void document_free(Document *document);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Document, document_free)

typedef struct {
        gsize size;           /* bytes of the text */
        int depth;            /* levels of lists and maps */
        guint32 nodes;        /* values and keys, each alias counted as often as it is used */
        guint32 alias_values; /* values that aliases add */
        gsize alias_text;     /* bytes of text that aliases add */
        bool large_numbers;   /* whole numbers beyond 64 bits become floats; otherwise they are refused */
        bool first_document;  /* documents after the first are ignored; otherwise refused */
} DocumentLimits;

/* For definitions of pipelines: 16 MiB, 512 levels, 2,000,000 nodes. */
extern const DocumentLimits document_limits;

/* The place of an error; line 0 when the error has none. */
typedef struct {
        guint32 line, column;
} DocumentPlace;

/* Text that begins with '{' after blanks is JSON, anything else YAML. NULL with ERR_INVALID or
 * ERR_TOO_LARGE; the message does not contain the place, which is in *ret_place. An empty YAML text is
 * null. */
Document *document_parse(const char *text, gsize len, const DocumentLimits *limits, DocumentPlace *ret_place,
                         GError **error);
Document *document_parse_yaml(const char *text, gsize len, const DocumentLimits *limits,
                              DocumentPlace *ret_place, GError **error);
Document *document_parse_json(const char *text, gsize len, const DocumentLimits *limits,
                              DocumentPlace *ret_place, GError **error);

/* The text of a DOCUMENT_TEXT. Borrowed. */
static inline const char *document_text(const Document *document, guint32 node)
{
        return document->texts + document->nodes[node].text;
}

/* The value of the key `name` in a map, or 0 if it has none. */
guint32 document_get(const Document *document, guint32 map, const char *name);

/* True if a plain YAML scalar with this text is text, and not null, a boolean or a number. */
bool document_is_plain_text(const char *text);
