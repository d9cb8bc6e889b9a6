/* Frames of a WebSocket (RFC 6455, section 5) for a client: it writes masked messages and reads messages of
 * any kind. Pure and bounded. For the server's side and the types see websocket-frame.h. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "net/websocket-frame.h"

typedef struct FrameReader FrameReader;

FrameReader *frame_reader_new(gsize message_max, FrameFound found, void *arg);
void frame_reader_free(FrameReader *reader);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FrameReader, frame_reader_free)

/* False with ERR_INVALID for a violation of the protocol, ERR_TOO_LARGE above `message_max`. After that, and
 * after `found` returned false, further bytes are refused. */
bool frame_reader_feed(FrameReader *reader, const char *data, gsize len, GError **error);

/* Appends one final frame, masked with `mask`. */
void frame_append_masked(GString *out, FrameOpcode opcode, const char *data, gsize len, guint32 mask);
