/* Frames of a WebSocket server as the Kubernetes client reads them. The first byte says how the rest is cut
 * into pieces; the meaning must not depend on the cuts. */
#include <stddef.h>
#include <stdint.h>

#include "net/client-frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MESSAGE_MAX = 4096 };

typedef struct {
        bool ok;
        unsigned hash, count;
} Meaning;

static bool note(FrameOpcode opcode, const char *data, gsize len, void *arg)
{
        Meaning *meaning = arg;

        g_assert_cmpuint(len, <=, opcode >= FRAME_CLOSE ? 125 : MESSAGE_MAX);
        for (gsize i = 0; i < len; i++)
                meaning->hash = meaning->hash * 31 + (uint8_t)data[i];
        meaning->hash = meaning->hash * 31 + (unsigned)opcode;
        meaning->count++;
        return opcode != FRAME_CLOSE;
}

static Meaning read_frames(const char *data, size_t size, size_t step)
{
        Meaning meaning = { .ok = true, .hash = 7 };
        g_autoptr(FrameReader) reader = frame_reader_new(MESSAGE_MAX, note, &meaning);

        for (size_t at = 0; meaning.ok && at < size; at += step)
                meaning.ok = frame_reader_feed(reader, data + at, MIN(step, size - at), NULL);
        return meaning;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        if (size < 2 || size > 1 << 16)
                return 0;
        Meaning whole = read_frames((const char *)data + 1, size - 1, size);
        Meaning cut = read_frames((const char *)data + 1, size - 1, 1 + (data[0] & 31));

        g_assert_cmpint(whole.ok, ==, cut.ok);
        g_assert_cmpuint(whole.hash, ==, cut.hash);
        g_assert_cmpuint(whole.count, ==, cut.count);
        return 0;
}
