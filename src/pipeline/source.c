/* The source of a definition (see source.h). Normalised: its values one after another, without blanks, comments and
 * quotes. Their order counts, since steps start in it. */
#include "pipeline/source.h"

#include <string.h>

#include "base/document.h"

static void add_text(GChecksum *sum, const char *text)
{
        g_checksum_update(sum, (const guchar *)text,
                          (gssize)strlen(text) + 1); /* with its NUL: it ends there */
}

static void add_number(GChecksum *sum, char kind, gint64 number)
{
        g_autofree char *text = g_strdup_printf("%c%" G_GINT64_FORMAT, kind, number);

        add_text(sum, text);
}

static void add_node(GChecksum *sum, const Document *document, guint32 i)
{
        const DocumentNode *node = &document->nodes[i];
        char real[G_ASCII_DTOSTR_BUF_SIZE];

        switch ((DocumentKind)node->kind) {
        case DOCUMENT_NULL: add_text(sum, "n"); break;
        case DOCUMENT_BOOL: add_text(sum, node->yes ? "true" : "false"); break;
        case DOCUMENT_INT: add_number(sum, 'i', node->whole); break;
        case DOCUMENT_FLOAT:
                add_text(sum, "f");
                add_text(sum, g_ascii_dtostr(real, sizeof real, node->real));
                break;
        case DOCUMENT_TEXT:
                add_text(sum, "t");
                add_text(sum, document_text(document, i));
                break;
        case DOCUMENT_LIST: add_number(sum, 'l', node->count); break;
        case DOCUMENT_MAP: add_number(sum, 'm', node->count); break;
        case DOCUMENT_KINDS: break;
        }
}

char *definition_source(const char *text, gsize len)
{
        DocumentPlace place;
        g_autoptr(Document) document = document_parse(text, len, &document_limits, &place, NULL);
        g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_MD5);

        if (!document)
                return NULL;
        for (guint32 i = 0; i < document->n_nodes; i++)
                add_node(sum, document, i);
        return g_strdup(g_checksum_get_string(sum));
}
