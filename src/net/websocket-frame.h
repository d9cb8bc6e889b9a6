/* Frames of a WebSocket (RFC 6455, section 5) as a server reads and writes them. Pure, and bounded: bytes as
 * they come in, messages out. No extensions, so RSV bits are an error; no subprotocols. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef enum {
        FRAME_CONTINUATION = 0,
        FRAME_TEXT = 1,
        FRAME_BINARY = 2,
        FRAME_CLOSE = 8,
        FRAME_PING = 9,
        FRAME_PONG = 10,
} FrameOpcode;

/* Why a connection ends: RFC 6455, section 7.4.1. */
typedef enum {
        CLOSE_NORMAL = 1000,
        CLOSE_GOING_AWAY = 1001,
        CLOSE_PROTOCOL = 1002,
        CLOSE_UNSUPPORTED = 1003, /* binary messages: we speak text */
        CLOSE_NOT_UTF8 = 1007,
        CLOSE_POLICY = 1008,
        CLOSE_TOO_LARGE = 1009,
} CloseStatus;

enum { FRAME_CONTROL_MAX = 125 /* bytes of a ping, a pong or a close */ };

typedef struct FrameDecoder FrameDecoder;

/* A whole message or control frame. Text is UTF-8 (and may hold NUL); a close is empty, or a valid status in
 * two bytes and a reason in UTF-8. `data` is borrowed and valid until this returns. False: no more, please.
 */
typedef bool (*FrameFound)(FrameOpcode opcode, const char *data, gsize len, void *arg);

/* Messages of more than `message_max` bytes are refused as soon as a header says so. */
FrameDecoder *frame_decoder_new(gsize message_max, FrameFound found, void *arg);
void frame_decoder_free(FrameDecoder *decoder);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FrameDecoder, frame_decoder_free)

/* Takes the next bytes of a client. 0, or the CloseStatus the connection must be failed with; after that, or
 * once `found` said false, nothing is taken any more. */
int frame_decoder_feed(FrameDecoder *decoder, const char *data, gsize len);

/* Appends one unmasked, final frame. */
void frame_append(GString *out, FrameOpcode opcode, const char *data, gsize len);
/* Appends a close; `reason` may be NULL and is cut to what fits. */
void frame_append_close(GString *out, CloseStatus status, const char *reason);

/* The status of a close as `found` gave it; 0 when it had none. */
int frame_close_status(const char *data, gsize len);
