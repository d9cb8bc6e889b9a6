/* Frames of a WebSocket as a client reads and writes them (see frame.h). */
#include "net/client-frame.h"

#include <string.h>

#include "base/err.h"

enum { CONTROL_MAX = 125, HEAD_MAX = 10, LEN_16 = 126, LEN_64 = 127 };

struct FrameReader {
        gsize message_max;
        FrameFound found;
        void *arg;
        guint8 head[HEAD_MAX];
        gsize head_len;
        bool in_frame;
        FrameOpcode opcode; /* of the frame */
        bool final;
        guint64 left;     /* of the frame */
        GString *control; /* of a control frame, which may stand between those of a message */
        GString *message;
        FrameOpcode kind; /* of the message; CONTINUATION: none has begun */
        bool stopped;
};

FrameReader *frame_reader_new(gsize message_max, FrameFound found, void *arg)
{
        FrameReader *reader = g_new0(FrameReader, 1);

        reader->message_max = message_max;
        reader->found = found;
        reader->arg = arg;
        reader->control = g_string_new(NULL);
        reader->message = g_string_new(NULL);
        return reader;
}

void frame_reader_free(FrameReader *reader)
{
        if (!reader)
                return;
        g_string_free(reader->control, TRUE);
        g_string_free(reader->message, TRUE);
        g_free(reader);
}

static bool is_control(FrameOpcode opcode)
{
        return opcode >= FRAME_CLOSE;
}

static bool check_opcode(const FrameReader *reader, GError **error)
{
        bool goes_on = reader->opcode == FRAME_CONTINUATION;

        switch (reader->opcode) {
        case FRAME_CONTINUATION:
        case FRAME_TEXT:
        case FRAME_BINARY:
                if (goes_on == (reader->kind != FRAME_CONTINUATION))
                        return true;
                return err_set(error, ERR_INVALID, "a WebSocket message %s",
                               goes_on ? "goes on that has not begun" : "begins within another");
        case FRAME_CLOSE:
        case FRAME_PING:
        case FRAME_PONG:
                if (reader->final && reader->left <= CONTROL_MAX)
                        return true;
                return err_set(error, ERR_INVALID, "a WebSocket control frame is too long or cut in pieces");
        default: return err_set(error, ERR_INVALID, "WebSocket opcode %d is not known", (int)reader->opcode);
        }
}

/* Bytes of the head that begins so; 0: more are needed to tell. */
static gsize head_size(const FrameReader *reader)
{
        if (reader->head_len < 2)
                return 0;
        switch (reader->head[1] & 0x7f) {
        case LEN_16: return 2 + sizeof(guint16);
        case LEN_64: return 2 + sizeof(guint64);
        default: return 2;
        }
}

static bool begin_frame(FrameReader *reader, gsize size, GError **error)
{
        reader->opcode = reader->head[0] & 0x0f;
        reader->final = reader->head[0] & 0x80;
        reader->left = size == 2 ? reader->head[1] & 0x7f : 0;
        for (gsize i = 2; i < size; i++)
                reader->left = reader->left << 8 | reader->head[i];
        reader->head_len = 0;
        reader->in_frame = true;
        if (reader->head[0] & 0x70)
                return err_set(error, ERR_INVALID, "a WebSocket frame has reserved bits set");
        if (reader->head[1] & 0x80)
                return err_set(error, ERR_INVALID, "a WebSocket frame of the server is masked");
        if (!check_opcode(reader, error))
                return false;
        if (!is_control(reader->opcode) && reader->left > reader->message_max - reader->message->len)
                return err_set(error, ERR_TOO_LARGE,
                               "a WebSocket message is larger than %" G_GSIZE_FORMAT " bytes",
                               reader->message_max);
        if (!is_control(reader->opcode) && reader->opcode != FRAME_CONTINUATION)
                reader->kind = reader->opcode;
        return true;
}

static void end_frame(FrameReader *reader)
{
        bool control = is_control(reader->opcode);
        GString *text = control ? reader->control : reader->message;

        reader->in_frame = false;
        if (!reader->final)
                return;
        reader->stopped =
                !reader->found(control ? reader->opcode : reader->kind, text->str, text->len, reader->arg);
        g_string_truncate(text, 0);
        if (!control)
                reader->kind = FRAME_CONTINUATION;
}

/* Bytes of the head; false with an error. */
static bool take_head(FrameReader *reader, guint8 byte, GError **error)
{
        reader->head[reader->head_len++] = byte;
        gsize size = head_size(reader);
        if (!size || reader->head_len < size)
                return true;
        return begin_frame(reader, size, error);
}

bool frame_reader_feed(FrameReader *reader, const char *data, gsize len, GError **error)
{
        for (gsize i = 0; i < len && !reader->stopped;) {
                if (!reader->in_frame) {
                        if (!take_head(reader, (guint8)data[i++], error)) {
                                reader->stopped = true;
                                return false;
                        }
                        if (!reader->in_frame)
                                continue;
                }
                gsize part = (gsize)MIN(reader->left, (guint64)(len - i));
                g_string_append_len(is_control(reader->opcode) ? reader->control : reader->message, data + i,
                                    (gssize)part);
                i += part;
                reader->left -= part;
                if (!reader->left)
                        end_frame(reader);
        }
        return true;
}

void frame_append_masked(GString *out, FrameOpcode opcode, const char *data, gsize len, guint32 mask)
{
        guint8 key[4], head[HEAD_MAX] = { (guint8)(0x80 | opcode) };
        gsize bytes = len < LEN_16 ? 0 : len <= G_MAXUINT16 ? sizeof(guint16) : sizeof(guint64);

        memcpy(key, &mask, sizeof key);
        head[1] = (guint8)(0x80 | (bytes == 0 ? len : bytes == sizeof(guint16) ? LEN_16 : LEN_64));
        for (gsize i = 0; i < bytes; i++)
                head[2 + i] = (guint8)((guint64)len >> (8 * (bytes - 1 - i)));
        g_string_append_len(out, (const char *)head, (gssize)(2 + bytes));
        g_string_append_len(out, (const char *)key, sizeof key);
        gsize at = out->len;
        g_string_append_len(out, data, (gssize)len);
        for (gsize i = 0; i < len; i++)
                out->str[at + i] ^= (char)key[i % sizeof key];
}
