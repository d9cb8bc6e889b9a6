/* Bytes of a client as a WebSocket reads them. The first byte says how the rest is cut into pieces; the
 * meaning must not depend on the cuts, and messages keep the rules. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "net/websocket-frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MESSAGE_MAX = 4096 };

typedef struct {
        int status;
        unsigned hash, count;
} Meaning;

static bool note(FrameOpcode opcode, const char *data, gsize len, void *arg)
{
        Meaning *meaning = arg;

        g_assert_true(opcode == FRAME_TEXT || opcode == FRAME_CLOSE || opcode == FRAME_PING ||
                      opcode == FRAME_PONG);
        g_assert_cmpuint(len, <=, opcode == FRAME_TEXT ? MESSAGE_MAX : FRAME_CONTROL_MAX);
        g_assert_true(opcode != FRAME_CLOSE || len != 1);
        if (opcode == FRAME_TEXT && !memchr(data, 0, len))
                g_assert_true(g_utf8_validate(data, (gssize)len, NULL));
        for (gsize i = 0; i < len; i++)
                meaning->hash = meaning->hash * 31 + (uint8_t)data[i];
        meaning->hash = meaning->hash * 31 + (unsigned)opcode;
        meaning->count++;
        return opcode != FRAME_CLOSE;
}

static Meaning read_frames(const char *data, size_t size, size_t step)
{
        Meaning meaning = { .hash = 7 };
        g_autoptr(FrameDecoder) decoder = frame_decoder_new(MESSAGE_MAX, note, &meaning);

        for (size_t at = 0; at < size; at += step)
                meaning.status = frame_decoder_feed(decoder, data + at, MIN(step, size - at));
        return meaning;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        if (size < 2 || size > 1 << 16)
                return 0;
        Meaning whole = read_frames((const char *)data + 1, size - 1, size);
        Meaning cut = read_frames((const char *)data + 1, size - 1, 1 + (data[0] & 31));

        g_assert_cmpint(whole.status, ==, cut.status);
        g_assert_cmpuint(whole.hash, ==, cut.hash);
        g_assert_cmpuint(whole.count, ==, cut.count);
        return 0;
}
