/* Server-sent events (the HTML standard, section 9.2) read from bytes as they come. Pure; for the client. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "net/client.h"

enum { SSE_EVENT_MAX = 16 << 20 }; /* bytes of one event, all its lines together */

typedef struct SseParser SseParser;

SseParser *sse_parser_new(SseFunc event, void *arg);
void sse_parser_free(SseParser *parser);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SseParser, sse_parser_free)

/* Calls `event` for each event that `data` completes. False with ERR_TOO_LARGE for an event above the limit;
 * false without an error when `event` returned false. As in the standard, an id also applies to the events
 * after it. */
bool sse_parser_feed(SseParser *parser, const char *data, gsize len, GError **error);
bool sse_parser_is_stopped(const SseParser *parser);
