/* An HTTP/1.1 reply from the bytes of a connection, as they come. Pure, and bounded: heads by REPLY_HEAD_MAX,
 * bodies by the exchange. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "net/exchange.h"

typedef struct ReplyParser ReplyParser;

/* `head_only`: the reply to HEAD, which has no body whatever its headers say. */
ReplyParser *reply_parser_new(Exchange *exchange, bool head_only);
void reply_parser_free(ReplyParser *parser);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ReplyParser, reply_parser_free)

/* Takes up to `len` bytes, fewer when the reply ends before; *ret_used says how many. False as exchange_body.
 */
bool reply_parser_feed(ReplyParser *parser, const char *data, gsize len, gsize *ret_used, GError **error);
/* The connection has ended: true if that is a good end for this reply, else ERR_UNAVAILABLE. */
bool reply_parser_end(ReplyParser *parser, GError **error);
bool reply_parser_is_done(const ReplyParser *parser);
bool reply_parser_has_begun(const ReplyParser *parser); /* at least one byte has come */
bool reply_parser_keeps(const ReplyParser *parser); /* done, and the connection may carry another request */
