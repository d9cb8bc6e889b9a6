/* The reply parser (RFC 9112); see reply-parser.h.
 *
 *      STATUS ─▶ HEADER ─▶ done | LENGTH | CLOSE | CHUNK_SIZE ─▶ CHUNK_DATA ─▶ CHUNK_END ─┐
 *         ▲         │ 1xx                            ▲     │ 0                           │
 *         └─────────┘                                └─────┼─────────────────────────────┘
 *                                                          └▶ TRAILER ─▶ done */
#include "net/reply-parser.h"

#include <string.h>

#include "base/err.h"
#include "base/number.h"

enum { CHUNK_LINE_MAX = 4096 };

typedef enum {
        AT_STATUS,
        AT_HEADER,
        AT_LENGTH,
        AT_CLOSE,
        AT_CHUNK_SIZE,
        AT_CHUNK_DATA,
        AT_CHUNK_END,
        AT_TRAILER,
        AT_DONE
} State;

struct ReplyParser {
        Exchange *exchange;
        State state;
        GString *line;
        guint64 left; /* of the body or the chunk */
        bool head_only, begun, old;
};

ReplyParser *reply_parser_new(Exchange *exchange, bool head_only)
{
        ReplyParser *parser = g_new0(ReplyParser, 1);

        parser->exchange = exchange;
        parser->head_only = head_only;
        parser->line = g_string_new(NULL);
        return parser;
}

void reply_parser_free(ReplyParser *parser)
{
        if (!parser)
                return;
        g_string_free(parser->line, TRUE);
        g_free(parser);
}

static const char *header(const ReplyParser *parser, const char *name)
{
        return g_hash_table_lookup(parser->exchange->reply->headers, name);
}

/* True if the comma-separated list holds the token. */
static bool has_token(const char *list, const char *token)
{
        gsize len = strlen(token);

        while (list && *list) {
                list += strspn(list, ", \t");
                gsize part = strcspn(list, ",; \t");

                if (part == len && g_ascii_strncasecmp(list, token, len) == 0)
                        return true;
                list += strcspn(list, ",");
        }
        return false;
}

/* After the empty line: what kind of body follows (RFC 9112, section 6.3). */
static bool end_head(ReplyParser *parser, GError **error)
{
        int status = parser->exchange->reply->status;
        const char *length = header(parser, "content-length"), *coding = header(parser, "transfer-encoding");
        gint64 left;

        if (status / 100 == 1) {
                parser->state = AT_STATUS;
        } else if (parser->head_only || status == 204 || status == 304) {
                parser->state = AT_DONE;
        } else if (coding) {
                if (g_ascii_strcasecmp(coding, "chunked") != 0)
                        return err_set(error, ERR_UNAVAILABLE, "the server sent a transfer coding '%s'",
                                       coding);
                parser->state = AT_CHUNK_SIZE;
        } else if (length) {
                if (!number_parse("Content-Length", length, 0, G_MAXINT64, &left, NULL))
                        return err_set(error, ERR_UNAVAILABLE, "the server sent a Content-Length of '%s'",
                                       length);
                parser->left = (guint64)left;
                parser->state = left ? AT_LENGTH : AT_DONE;
        } else {
                parser->state = AT_CLOSE;
        }
        return true;
}

static bool take_chunk_size(ReplyParser *parser, const char *line, GError **error)
{
        g_autofree char *digits = g_strndup(line, strcspn(line, "; \t"));

        if (!g_ascii_string_to_unsigned(digits, 16, 0, G_MAXINT64, &parser->left, NULL))
                return err_set(error, ERR_UNAVAILABLE, "the server sent a broken chunk");
        parser->state = parser->left ? AT_CHUNK_DATA : AT_TRAILER;
        return true;
}

static bool take_status(ReplyParser *parser, GError **error)
{
        parser->state = AT_HEADER;
        parser->old = g_str_has_prefix(parser->line->str, "HTTP/1.0");
        return exchange_status(parser->exchange, parser->line->str, parser->line->len, error);
}

static bool take_line(ReplyParser *parser, GError **error)
{
        GString *line = parser->line;

        switch (parser->state) {
        case AT_STATUS:
                return line->len == 0 || take_status(parser, error); /* an empty line before is forgiven */
        case AT_HEADER:
                return line->len ? exchange_header(parser->exchange, line->str, line->len, error)
                                 : end_head(parser, error);
        case AT_CHUNK_SIZE: return take_chunk_size(parser, line->str, error);
        case AT_CHUNK_END:
                parser->state = AT_CHUNK_SIZE;
                return line->len == 0 ||
                       err_set(error, ERR_UNAVAILABLE, "the server sent a chunk longer than it said");
        case AT_TRAILER: parser->state = line->len ? AT_TRAILER : AT_DONE; return true;
        default: return true;
        }
}

/* Bytes of a line; its bound is that of the head, or of a chunk's line. */
static bool feed_line(ReplyParser *parser, const char *data, gsize len, gsize *ret_used, GError **error)
{
        const char *end = memchr(data, '\n', len);
        gsize part = end ? (gsize)(end - data) : len;
        gsize max = parser->state <= AT_HEADER ? REPLY_HEAD_MAX : CHUNK_LINE_MAX;

        if (parser->line->len + part > max)
                return err_set(error, ERR_UNAVAILABLE,
                               "the server sent a line of more than %" G_GSIZE_FORMAT " bytes", max);
        g_string_append_len(parser->line, data, (gssize)part);
        *ret_used = part + (end != NULL);
        if (!end)
                return true;
        if (parser->line->len && parser->line->str[parser->line->len - 1] == '\r')
                g_string_truncate(parser->line, parser->line->len - 1);
        bool ok = take_line(parser, error);
        g_string_truncate(parser->line, 0);
        return ok;
}

static bool feed_body(ReplyParser *parser, const char *data, gsize len, gsize *ret_used, GError **error)
{
        gsize part = parser->state == AT_CLOSE ? len : (gsize)MIN(len, parser->left);

        *ret_used = part;
        if (parser->state != AT_CLOSE) {
                parser->left -= part;
                if (parser->left == 0)
                        parser->state = parser->state == AT_LENGTH ? AT_DONE : AT_CHUNK_END;
        }
        return exchange_body(parser->exchange, data, part, error);
}

bool reply_parser_feed(ReplyParser *parser, const char *data, gsize len, gsize *ret_used, GError **error)
{
        gsize used = 0;
        bool ok = true;

        parser->begun |= len > 0;
        while (ok && used < len && parser->state != AT_DONE) {
                gsize part = 0;
                bool body = parser->state == AT_LENGTH || parser->state == AT_CLOSE ||
                            parser->state == AT_CHUNK_DATA;

                ok = (body ? feed_body : feed_line)(parser, data + used, len - used, &part, error);
                used += part;
        }
        *ret_used = used;
        return ok;
}

bool reply_parser_end(ReplyParser *parser, GError **error)
{
        if (parser->state == AT_CLOSE)
                parser->state = AT_DONE;
        if (parser->state == AT_DONE)
                return true;
        return err_set(error, ERR_UNAVAILABLE, "the connection broke off %s",
                       parser->begun ? "in the middle of the reply" : "before a reply came");
}

bool reply_parser_is_done(const ReplyParser *parser)
{
        return parser->state == AT_DONE;
}

bool reply_parser_has_begun(const ReplyParser *parser)
{
        return parser->begun;
}

bool reply_parser_keeps(const ReplyParser *parser)
{
        const char *connection;

        if (parser->state != AT_DONE || !parser->exchange->reply->headers)
                return false;
        connection = header(parser, "connection");
        if (!header(parser, "content-length") && !header(parser, "transfer-encoding") && !parser->head_only &&
            parser->exchange->reply->status != 204 && parser->exchange->reply->status != 304)
                return false; /* it ended with the connection */
        return parser->old ? has_token(connection, "keep-alive") : !has_token(connection, "close");
}
