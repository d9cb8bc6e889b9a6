/* RFC 6455, section 5:
 *
 *       0                   1                   2                   3
 *       FIN RSV(3) opcode(4) | MASK len(7) | len 16 or 64 bits when 126 or 127 | mask(32) | payload
 *
 * A header is at most 14 bytes and is collected first; then the payload goes, unmasked, into the message or
 * into the control frame, which may stand between two fragments of a message. */
#include "net/websocket-frame.h"

#include <string.h>

enum { HEADER_MAX = 14, BIT_FIN = 0x80, BITS_RSV = 0x70, BITS_OPCODE = 0x0f, BIT_MASK = 0x80 };

struct FrameDecoder {
        gsize message_max;
        FrameFound found;
        void *arg;
        int status; /* the connection has failed; nothing is taken any more */
        bool over;

        guint8 header[HEADER_MAX];
        guint header_len;
        bool in_payload;

        FrameOpcode opcode; /* of the frame under way */
        bool fin;
        guint8 mask[4];
        guint64 left, taken; /* of its payload */

        bool in_message; /* a message began and its last fragment has not come */
        GString *message, *control;
};

FrameDecoder *frame_decoder_new(gsize message_max, FrameFound found, void *arg)
{
        FrameDecoder *decoder = g_new0(FrameDecoder, 1);

        decoder->message_max = message_max;
        decoder->found = found;
        decoder->arg = arg;
        decoder->message = g_string_new(NULL);
        decoder->control = g_string_new(NULL);
        return decoder;
}

void frame_decoder_free(FrameDecoder *decoder)
{
        if (!decoder)
                return;
        g_string_free(decoder->message, TRUE);
        g_string_free(decoder->control, TRUE);
        g_free(decoder);
}

static bool is_control(FrameOpcode opcode)
{
        return opcode & 8;
}

/* GLib's validator takes NUL for an error, and UTF-8 does not. */
static bool is_utf8(const char *data, gsize len)
{
        while (len > 0) {
                const char *nul = memchr(data, '\0', len);
                gsize part = nul ? (gsize)(nul - data) : len;

                if (!g_utf8_validate_len(data, part, NULL))
                        return false;
                part += nul != NULL;
                data += part;
                len -= part;
        }
        return true;
}

/* How long the header is, as far as its first two bytes tell. */
static guint header_size(const guint8 *header)
{
        guint len = header[1] & 0x7f;

        return 2 + (len == 126 ? 2 : len == 127 ? 8 : 0) + (header[1] & BIT_MASK ? 4 : 0);
}

/* Checks the first two bytes. */
static int check_start(const FrameDecoder *decoder)
{
        guint8 first = decoder->header[0], len = decoder->header[1] & 0x7f;

        if ((first & BITS_RSV) || !(decoder->header[1] & BIT_MASK))
                return CLOSE_PROTOCOL;
        switch (first & BITS_OPCODE) {
        case FRAME_CONTINUATION: return decoder->in_message ? 0 : CLOSE_PROTOCOL;
        case FRAME_TEXT: return decoder->in_message ? CLOSE_PROTOCOL : 0;
        case FRAME_BINARY: return decoder->in_message ? CLOSE_PROTOCOL : CLOSE_UNSUPPORTED;
        case FRAME_CLOSE:
        case FRAME_PING:
        case FRAME_PONG: return (first & BIT_FIN) && len <= FRAME_CONTROL_MAX ? 0 : CLOSE_PROTOCOL;
        default: return CLOSE_PROTOCOL;
        }
}

/* The length must be written in as few bytes as it fits. */
static int read_length(const guint8 *header, guint64 *ret)
{
        guint short_len = header[1] & 0x7f, bytes = short_len == 126 ? 2 : short_len == 127 ? 8 : 0;
        guint64 len = 0;

        for (guint i = 0; i < bytes; i++)
                len = len << 8 | header[2 + i];
        if ((bytes == 2 && len < 126) || (bytes == 8 && (len <= 0xffff || len >> 63)))
                return CLOSE_PROTOCOL;
        *ret = bytes ? len : short_len;
        return 0;
}

static int begin_payload(FrameDecoder *decoder)
{
        guint64 len = 0;
        int status = read_length(decoder->header, &len);

        if (status)
                return status;
        decoder->opcode = decoder->header[0] & BITS_OPCODE;
        decoder->fin = decoder->header[0] & BIT_FIN;
        memcpy(decoder->mask, decoder->header + decoder->header_len - 4, 4);
        if (!is_control(decoder->opcode)) {
                if (len > decoder->message_max - decoder->message->len)
                        return CLOSE_TOO_LARGE;
                decoder->in_message = true;
        }
        decoder->left = len;
        decoder->taken = 0;
        decoder->in_payload = true;
        return 0;
}

/* Takes bytes of the header; *ret_used says how many. */
static int take_header(FrameDecoder *decoder, const char *data, gsize len, gsize *ret_used)
{
        guint want = decoder->header_len < 2 ? 2 : header_size(decoder->header);
        gsize part = MIN(len, want - decoder->header_len);

        memcpy(decoder->header + decoder->header_len, data, part);
        decoder->header_len += (guint)part;
        *ret_used = part;
        if (decoder->header_len < want)
                return 0;
        /* What passes the first check is masked, so its header goes on. */
        return want == 2 ? check_start(decoder) : begin_payload(decoder);
}

static gsize take_payload(FrameDecoder *decoder, const char *data, gsize len)
{
        GString *out = is_control(decoder->opcode) ? decoder->control : decoder->message;
        gsize part = (gsize)MIN((guint64)len, decoder->left), at = out->len;

        g_string_append_len(out, data, (gssize)part);
        for (gsize i = 0; i < part; i++)
                out->str[at + i] ^= (char)decoder->mask[(decoder->taken + i) & 3];
        decoder->taken += part;
        decoder->left -= part;
        return part;
}

int frame_close_status(const char *data, gsize len)
{
        return len < 2 ? 0 : (guint8)data[0] << 8 | (guint8)data[1];
}

/* Statuses that may be sent: those of the RFC and of its registry, libraries' and applications' own. */
static bool may_be_sent(int status)
{
        return (status >= 1000 && status <= 1003) || (status >= 1007 && status <= 1014) ||
               (status >= 3000 && status <= 4999);
}

static int check_close(const GString *control)
{
        if (control->len == 0)
                return 0;
        if (control->len == 1 || !may_be_sent(frame_close_status(control->str, control->len)))
                return CLOSE_PROTOCOL;
        return is_utf8(control->str + 2, control->len - 2) ? 0 : CLOSE_NOT_UTF8;
}

static int hand_over(FrameDecoder *decoder, FrameOpcode opcode, GString *data)
{
        int status = opcode == FRAME_TEXT    ? (is_utf8(data->str, data->len) ? 0 : CLOSE_NOT_UTF8)
                     : opcode == FRAME_CLOSE ? check_close(data)
                                             : 0;

        if (status == 0)
                decoder->over = !decoder->found(opcode, data->str, data->len, decoder->arg);
        g_string_truncate(data, 0);
        return status;
}

static int end_frame(FrameDecoder *decoder)
{
        decoder->in_payload = false;
        decoder->header_len = 0;
        if (is_control(decoder->opcode))
                return hand_over(decoder, decoder->opcode, decoder->control);
        if (!decoder->fin)
                return 0;
        decoder->in_message = false;
        return hand_over(decoder, FRAME_TEXT, decoder->message);
}

int frame_decoder_feed(FrameDecoder *decoder, const char *data, gsize len)
{
        while (len > 0 && !decoder->status && !decoder->over) {
                gsize used = 0;

                if (decoder->in_payload)
                        used = take_payload(decoder, data, len);
                else
                        decoder->status = take_header(decoder, data, len, &used);
                if (!decoder->status && decoder->in_payload && decoder->left == 0)
                        decoder->status = end_frame(decoder);
                data += used;
                len -= used;
        }
        return decoder->status;
}

void frame_append(GString *out, FrameOpcode opcode, const char *data, gsize len)
{
        guint bytes = len > 0xffff ? 8 : len > FRAME_CONTROL_MAX ? 2 : 0;

        g_string_append_c(out, (char)(BIT_FIN | (int)opcode));
        g_string_append_c(out, bytes == 8 ? 127 : bytes == 2 ? 126 : (char)len);
        for (guint i = bytes; i-- > 0;)
                g_string_append_c(out, (char)(len >> (8 * i) & 0xff));
        g_string_append_len(out, data, (gssize)len);
}

void frame_append_close(GString *out, CloseStatus status, const char *reason)
{
        char data[FRAME_CONTROL_MAX + 1] = { (char)(status >> 8), (char)(status & 0xff) };
        gsize len = reason ? strlen(reason) : 0;

        if (len > FRAME_CONTROL_MAX - 2) {
                len = FRAME_CONTROL_MAX - 2;
                while (len > 0 && ((guint8)reason[len] & 0xc0) == 0x80) /* not in mid-character */
                        len--;
        }
        if (len)
                memcpy(data + 2, reason, len);
        frame_append(out, FRAME_CLOSE, data, len + 2);
}
