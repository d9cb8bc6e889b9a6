/* Bytes of a user's process as the server reads a terminal's frames. The first byte says how the rest is cut
 * into pieces; the meaning must not depend on the cuts, and frames keep the rules. */
#include <stddef.h>
#include <stdint.h>

#include "api/v1/terminal-frames.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct {
        bool good;
        unsigned hash, count;
} Meaning;

static void note(TerminalFrame type, const char *text, gsize len, guint64 number, void *arg)
{
        Meaning *meaning = arg;

        g_assert_true(type == TERMINAL_OUTPUT || type == TERMINAL_POSITION || type == TERMINAL_END);
        g_assert_cmpuint(len, <=, TERMINAL_FRAME_MAX);
        g_assert_true(type != TERMINAL_OUTPUT || number == 0);
        for (gsize i = 0; i < len; i++)
                meaning->hash = meaning->hash * 31 + (uint8_t)text[i];
        meaning->hash = meaning->hash * 31 + (unsigned)type + (unsigned)number;
        meaning->count++;
}

static Meaning read_frames(const char *data, size_t size, size_t step)
{
        Meaning meaning = { .good = true, .hash = 7 };
        TerminalFrames frames = { .take = note, .arg = &meaning };

        for (size_t at = 0; at < size && meaning.good; at += step)
                meaning.good = terminal_frames_feed(&frames, data + at, MIN(step, size - at));
        return meaning;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        if (size < 1)
                return 0;
        const Meaning whole = read_frames((const char *)data + 1, size - 1, size);
        const Meaning cut = read_frames((const char *)data + 1, size - 1, 1 + data[0] % 16);

        g_assert_cmpint(whole.good, ==, cut.good);
        g_assert_cmpuint(whole.hash, ==, cut.hash);
        g_assert_cmpuint(whole.count, ==, cut.count);
        return 0;
}
