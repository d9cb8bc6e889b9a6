/* Frames of terminals (see terminal-frames.h). */
#include "api/v1/terminal-frames.h"

#include <string.h>

enum { POSITION_BYTES = 8, STATUS_BYTES = 4, CELL_BYTES = 2 };

static bool take(TerminalFrames *frames, TerminalFrame type, const char *content, gsize len)
{
        gsize bytes = type == TERMINAL_POSITION ? POSITION_BYTES : type == TERMINAL_END ? STATUS_BYTES : 0;

        if (type != TERMINAL_OUTPUT && (len != bytes || (!bytes && type != TERMINAL_FULL)))
                return false;
        frames->take(type, content, len, terminal_number((const unsigned char *)content, (int)bytes),
                     frames->arg);
        return true;
}

bool terminal_frames_feed(TerminalFrames *frames, const char *data, gsize len)
{
        while (len) {
                gsize part = MIN(len, sizeof frames->buffer - frames->len), whole = TERMINAL_HEAD;

                memcpy(frames->buffer + frames->len, data, part);
                frames->len += part;
                data += part;
                len -= part;
                while (frames->len >= TERMINAL_HEAD) {
                        gsize content = terminal_number((const unsigned char *)frames->buffer + 1, 4);

                        whole = TERMINAL_HEAD + content;
                        if (content > TERMINAL_FRAME_MAX)
                                return false;
                        if (frames->len < whole)
                                break;
                        if (!take(frames, (TerminalFrame)frames->buffer[0], frames->buffer + TERMINAL_HEAD,
                                  content))
                                return false;
                        frames->len -= whole;
                        memmove(frames->buffer, frames->buffer + whole, frames->len);
                }
        }
        return true;
}

static void put(GString *out, TerminalFrame type, const void *content, gsize len)
{
        unsigned char head[TERMINAL_HEAD];

        terminal_head(head, type, (uint32_t)len);
        g_string_append_len(out, (const char *)head, sizeof head);
        g_string_append_len(out, content, (gssize)len);
}

void terminal_frames_attach(GString *out, guint64 position)
{
        unsigned char content[POSITION_BYTES];

        terminal_put_number(content, POSITION_BYTES, position);
        put(out, TERMINAL_ATTACH, content, sizeof content);
}

void terminal_frames_size(GString *out, int columns, int rows)
{
        unsigned char content[2 * CELL_BYTES];

        terminal_put_number(content, CELL_BYTES, (guint64)columns);
        terminal_put_number(content + CELL_BYTES, CELL_BYTES, (guint64)rows);
        put(out, TERMINAL_SIZE, content, sizeof content);
}

void terminal_frames_input(GString *out, const char *data, gsize len)
{
        for (gsize at = 0; at < len; at += TERMINAL_FRAME_MAX)
                put(out, TERMINAL_INPUT, data + at, MIN(len - at, TERMINAL_FRAME_MAX));
}

void terminal_frames_detach(GString *out)
{
        put(out, TERMINAL_DETACH, "", 0);
}
