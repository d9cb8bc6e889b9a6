/* Parses an HTTP/1.1 reply from a connection's bytes. Pure and bounded: heads by REPLY_HEAD_MAX, bodies by
 * the exchange. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "net/exchange.h"

typedef struct ReplyParser ReplyParser;

/* `head_only`: the reply to HEAD, which has no body whatever its headers say. */
ReplyParser *reply_parser_new(Exchange *exchange, bool head_only);
void reply_parser_free(ReplyParser *parser);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ReplyParser, reply_parser_free)

/* Parses up to `len` bytes, fewer if the reply ends earlier; *ret_used is the number. False as
 * exchange_body. */
bool reply_parser_feed(ReplyParser *parser, const char *data, gsize len, gsize *ret_used, GError **error);
/* The connection has ended: true if the reply may end this way, else ERR_UNAVAILABLE. */
bool reply_parser_end(ReplyParser *parser, GError **error);
bool reply_parser_is_done(const ReplyParser *parser);
bool reply_parser_has_begun(const ReplyParser *parser); /* at least one byte has arrived */
bool reply_parser_keeps(const ReplyParser *parser); /* done, and the connection may carry another request */
