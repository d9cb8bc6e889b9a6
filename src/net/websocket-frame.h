/* Frames of a WebSocket (RFC 6455, section 5) for a server: it reads bytes and writes messages. Pure and
 * bounded. No extensions, so RSV bits are an error; no subprotocols. */
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
        CLOSE_UNSUPPORTED = 1003, /* binary messages: only text is supported */
        CLOSE_NOT_UTF8 = 1007,
        CLOSE_POLICY = 1008,
        CLOSE_TOO_LARGE = 1009,
} CloseStatus;

enum { FRAME_CONTROL_MAX = 125 /* bytes of a ping, a pong or a close */ };

typedef struct FrameDecoder FrameDecoder;

/* A whole message or control frame. Text is UTF-8 (and may contain NUL). A close is empty, or has a valid
 * status in two bytes and a reason in UTF-8. `data` is borrowed and valid until this returns. False: read no
 * more. */
typedef bool (*FrameFound)(FrameOpcode opcode, const char *data, gsize len, void *arg);

/* A message of more than `message_max` bytes is refused as soon as a header announces it. */
FrameDecoder *frame_decoder_new(gsize message_max, FrameFound found, void *arg);
void frame_decoder_free(FrameDecoder *decoder);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FrameDecoder, frame_decoder_free)

/* Reads the next bytes of a client. 0, or the CloseStatus with which the connection must fail. After that,
 * and after `found` returned false, further bytes are ignored. */
int frame_decoder_feed(FrameDecoder *decoder, const char *data, gsize len);

/* Appends one unmasked, final frame. */
void frame_append(GString *out, FrameOpcode opcode, const char *data, gsize len);
/* Appends a close; `reason` may be NULL and is truncated to fit. */
void frame_append_close(GString *out, CloseStatus status, const char *reason);

/* The status of a close as passed to `found`; 0: none. */
int frame_close_status(const char *data, gsize len);
