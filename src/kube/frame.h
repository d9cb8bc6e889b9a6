/* Frames of a WebSocket (RFC 6455, section 5) as a client reads and writes them: binary messages out, masked;
 * messages of any kind in. Pure and bounded. (What a server needs is net/websocket-frame.h.) */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef enum {
        KUBE_FRAME_CONTINUATION = 0,
        KUBE_FRAME_TEXT = 1,
        KUBE_FRAME_BINARY = 2,
        KUBE_FRAME_CLOSE = 8,
        KUBE_FRAME_PING = 9,
        KUBE_FRAME_PONG = 10,
} KubeFrameOpcode;

typedef struct KubeFrameReader KubeFrameReader;

/* A whole message or control frame; `data` is borrowed. False: no more, please. */
typedef bool (*KubeMessageFound)(KubeFrameOpcode opcode, const char *data, gsize len, void *arg);

KubeFrameReader *kube_frame_reader_new(gsize message_max, KubeMessageFound found, void *arg);
void kube_frame_reader_free(KubeFrameReader *reader);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(KubeFrameReader, kube_frame_reader_free)

/* False with ERR_INVALID for what breaks the protocol, ERR_TOO_LARGE above `message_max`. After that, and
 * once `found` said false, nothing is taken any more. */
bool kube_frame_reader_feed(KubeFrameReader *reader, const char *data, gsize len, GError **error);

/* Appends one final frame, masked with `mask`. */
void kube_frame_append(GString *out, KubeFrameOpcode opcode, const char *data, gsize len, guint32 mask);
