/* Between the readers of base/document.h: a document while it is read. */
#pragma once

#include "base/document.h"

typedef struct {
        const DocumentLimits *limits;
        DocumentPlace *place; /* of the error */
        GArray *nodes;        /* DocumentNode */
        GString *texts;
        int depth, deepest; /* levels around the next node; the most since the last reset */
} Builder;

/* The keys of a map that is read. Beyond a few, they are looked up in a set. */
typedef struct {
        guint32 map;
        guint32 n;
        GHashTable *names; /* of char *, or NULL */
} Keys;
void keys_clear(Keys *keys);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Keys, keys_clear)

/* Set the place and the error; false. */
bool builder_refuse(Builder *builder, DocumentPlace at, GError **error, const char *format, ...)
        G_GNUC_PRINTF(4, 5);
#define builder_refuse(...)                                                                                  \
        ({                                                                                                   \
                (void)builder_refuse(__VA_ARGS__);                                                           \
                false;                                                                                       \
        })

/* Append a node whose `next` is the index after it. */
bool builder_add(Builder *builder, DocumentNode node, DocumentPlace at, GError **error);

/* Begin and end a list or map. *ret is its index. */
bool builder_open(Builder *builder, DocumentKind kind, DocumentPlace at, guint32 *ret, GError **error);
void builder_close(Builder *builder, guint32 node, guint32 count);

/* Copy a text to the pool. */
guint32 builder_text(Builder *builder, const char *text, gsize len);

/* Refuse a key that its map has already. The key is not yet added. */
bool keys_add(Keys *keys, Builder *builder, const char *name, DocumentPlace at, GError **error);

/* The place of the byte `at` of a text. */
DocumentPlace document_place_of(const char *text, const char *at);

/* Refuse a text that is too large or not UTF-8, and begin a document. */
bool builder_begin(Builder *builder, const char *text, gsize len, GError **error);

/* The finished document if `ok`, otherwise NULL. Frees what the builder holds. */
Document *builder_end(Builder *builder, bool ok);
