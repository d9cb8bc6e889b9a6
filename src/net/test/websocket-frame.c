/* The frames of RFC 6455, section 5: what a client may send, what it is refused for, and what we send. The
 * bytes are written out from the RFC. */
#include "net/websocket-frame.h"

#include <string.h>

enum { MESSAGE_MAX = 1000 };

/* "opcode:payload;" of all that was found. */
static bool note(FrameOpcode opcode, const char *data, gsize len, void *arg)
{
        GString *out = arg;

        g_string_append_printf(out, "%d:", (int)opcode);
        g_string_append_len(out, data, (gssize)len);
        g_string_append_c(out, ';');
        return opcode != FRAME_CLOSE;
}

#define BYTES(text) text, sizeof(text) - 1
#define ZEROS "\0\0\0\0" /* a mask that changes nothing */

static const struct {
        const char *name, *in;
        gsize len;
        const char *found; /* as `note` writes it */
        gsize found_len;
        int status;
} cases[] = {
        /* section 5.7: "Hello" */
        { "masked text", BYTES("\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"), BYTES("1:Hello;"), 0 },
        { "empty text", BYTES("\x81\x80" ZEROS), BYTES("1:;"), 0 },
        { "two messages", BYTES("\x81\x81" ZEROS "a\x81\x81" ZEROS "b"), BYTES("1:a;1:b;"), 0 },
        { "fragments", BYTES("\x01\x83" ZEROS "Hel\x80\x82" ZEROS "lo"), BYTES("1:Hello;"), 0 },
        { "a ping between fragments",
          BYTES("\x01\x81" ZEROS "a\x89\x81" ZEROS "p\x00\x81" ZEROS "b\x80\x80" ZEROS), BYTES("9:p;1:ab;"),
          0 },
        { "a character in two fragments", BYTES("\x01\x81" ZEROS "\xc3\x80\x81" ZEROS "\xbc"),
          BYTES("1:\xc3\xbc;"), 0 },
        { "NUL is text", BYTES("\x81\x83" ZEROS "a\0b"), BYTES("1:a\0b;"), 0 },
        { "empty ping", BYTES("\x89\x80" ZEROS), BYTES("9:;"), 0 },
        { "pong", BYTES("\x8a\x81" ZEROS "x"), BYTES("10:x;"), 0 },
        { "close without a status", BYTES("\x88\x80" ZEROS), BYTES("8:;"), 0 },
        { "close with a reason",
          BYTES("\x88\x85" ZEROS "\x03\xe8"
                "bye"),
          BYTES("8:\x03\xe8"
                "bye;"),
          0 },
        { "nothing after a close", BYTES("\x88\x80" ZEROS "\x81\x81" ZEROS "a"), BYTES("8:;"), 0 },
        { "close of an application", BYTES("\x88\x82" ZEROS "\x0f\xa0"), BYTES("8:\x0f\xa0;"), 0 },

        { "unmasked", BYTES("\x81\x05Hello"), BYTES(""), CLOSE_PROTOCOL },
        { "unmasked ping", BYTES("\x89\x00"), BYTES(""), CLOSE_PROTOCOL },
        { "RSV1", BYTES("\xc1\x80" ZEROS), BYTES(""), CLOSE_PROTOCOL },
        { "RSV2", BYTES("\xa1\x80" ZEROS), BYTES(""), CLOSE_PROTOCOL },
        { "RSV3", BYTES("\x91\x80" ZEROS), BYTES(""), CLOSE_PROTOCOL },
        { "unknown data opcode", BYTES("\x83\x80" ZEROS), BYTES(""), CLOSE_PROTOCOL },
        { "unknown control opcode", BYTES("\x8b\x80" ZEROS), BYTES(""), CLOSE_PROTOCOL },
        { "binary", BYTES("\x82\x81" ZEROS "a"), BYTES(""), CLOSE_UNSUPPORTED },
        { "continuation of nothing", BYTES("\x80\x81" ZEROS "a"), BYTES(""), CLOSE_PROTOCOL },
        { "text within a message", BYTES("\x01\x81" ZEROS "a\x81\x81" ZEROS "b"), BYTES(""), CLOSE_PROTOCOL },
        { "binary within a message", BYTES("\x01\x81" ZEROS "a\x82\x81" ZEROS "b"), BYTES(""),
          CLOSE_PROTOCOL },
        { "fragmented ping", BYTES("\x09\x80" ZEROS), BYTES(""), CLOSE_PROTOCOL },
        { "long ping", BYTES("\x89\xfe\x00\x7e" ZEROS), BYTES(""), CLOSE_PROTOCOL },
        { "close of one byte", BYTES("\x88\x81" ZEROS "\x03"), BYTES(""), CLOSE_PROTOCOL },
        { "close with 999", BYTES("\x88\x82" ZEROS "\x03\xe7"), BYTES(""), CLOSE_PROTOCOL },
        { "close with 1004", BYTES("\x88\x82" ZEROS "\x03\xec"), BYTES(""), CLOSE_PROTOCOL },
        { "close with 1005", BYTES("\x88\x82" ZEROS "\x03\xed"), BYTES(""), CLOSE_PROTOCOL },
        { "close with 1006", BYTES("\x88\x82" ZEROS "\x03\xee"), BYTES(""), CLOSE_PROTOCOL },
        { "close with 1015", BYTES("\x88\x82" ZEROS "\x03\xf7"), BYTES(""), CLOSE_PROTOCOL },
        { "close with 2999", BYTES("\x88\x82" ZEROS "\x0b\xb7"), BYTES(""), CLOSE_PROTOCOL },
        { "close with 5000", BYTES("\x88\x82" ZEROS "\x13\x88"), BYTES(""), CLOSE_PROTOCOL },
        { "a reason that is not UTF-8", BYTES("\x88\x83" ZEROS "\x03\xe8\xff"), BYTES(""), CLOSE_NOT_UTF8 },
        { "text that is not UTF-8", BYTES("\x81\x82" ZEROS "\xc3("), BYTES(""), CLOSE_NOT_UTF8 },
        { "a surrogate", BYTES("\x81\x83" ZEROS "\xed\xa0\x80"), BYTES(""), CLOSE_NOT_UTF8 },
        { "an overlong form", BYTES("\x81\x82" ZEROS "\xc0\x80"), BYTES(""), CLOSE_NOT_UTF8 },
        { "above U+10FFFF", BYTES("\x81\x84" ZEROS "\xf4\x90\x80\x80"), BYTES(""), CLOSE_NOT_UTF8 },
        { "half a character", BYTES("\x81\x81" ZEROS "\xc3"), BYTES(""), CLOSE_NOT_UTF8 },
        { "1001 bytes", BYTES("\x81\xfe\x03\xe9" ZEROS), BYTES(""), CLOSE_TOO_LARGE },
        { "1001 bytes in fragments", BYTES("\x01\x82" ZEROS "ab\x80\xfe\x03\xe7" ZEROS), BYTES(""),
          CLOSE_TOO_LARGE },
        { "2^40 bytes", BYTES("\x81\xff\0\0\x01\0\0\0\0\0" ZEROS), BYTES(""), CLOSE_TOO_LARGE },
        { "2^63 bytes", BYTES("\x81\xff\x80\0\0\0\0\0\0\0" ZEROS), BYTES(""), CLOSE_PROTOCOL },
        { "5 bytes, written in 16 bits", BYTES("\x81\xfe\x00\x05" ZEROS), BYTES(""), CLOSE_PROTOCOL },
        { "300 bytes, written in 64 bits", BYTES("\x81\xff\0\0\0\0\0\0\x01\x2c" ZEROS), BYTES(""),
          CLOSE_PROTOCOL },
};

static void test_decode(gconstpointer data)
{
        gsize i = (gsize)data;

        for (gsize step = 1; step <= cases[i].len; step++) { /* however it is cut */
                g_autoptr(GString) found = g_string_new(NULL);
                g_autoptr(FrameDecoder) decoder = frame_decoder_new(MESSAGE_MAX, note, found);
                int status = 0;

                for (gsize at = 0; at < cases[i].len; at += step)
                        status = frame_decoder_feed(decoder, cases[i].in + at, MIN(step, cases[i].len - at));
                g_assert_cmpint(status, ==, cases[i].status);
                g_assert_cmpmem(found->str, found->len, cases[i].found, cases[i].found_len);
        }
}

static void test_lengths(void)
{
        static const gsize lengths[] = { 0, 1, 125, 126, 127, 65535, 65536, 70000 };

        for (gsize i = 0; i < G_N_ELEMENTS(lengths); i++) {
                gsize len = lengths[i], head = len < 126 ? 2 : len < 65536 ? 4 : 10;
                g_autofree char *text = g_strnfill(len, 'x');
                g_autoptr(GString) out = g_string_new(NULL), client = g_string_new(NULL),
                                   found = g_string_new(NULL);
                g_autoptr(FrameDecoder) decoder = frame_decoder_new(len, note, found);

                frame_append(out, FRAME_TEXT, text, len);
                g_assert_cmpuint(out->len, ==, head + len);
                g_assert_cmphex((guint8)out->str[0], ==, 0x81);
                g_assert_cmphex((guint8)out->str[1], ==, head == 2 ? len : head == 4 ? 126 : 127);
                /* The same with a mask is what a client sends, and a message of the largest size. */
                g_string_append_len(client, out->str, (gssize)head);
                client->str[1] |= (char)0x80;
                g_string_append_len(client, ZEROS, 4);
                g_string_append(client, text);
                g_assert_cmpint(frame_decoder_feed(decoder, client->str, client->len), ==, 0);
                g_assert_cmpuint(found->len, ==, len + 3);
        }
}

static void test_close(void)
{
        g_autoptr(GString) out = g_string_new(NULL);
        g_autofree char *reason = g_strnfill(130, 'r');

        frame_append_close(out, CLOSE_GOING_AWAY, "bye");
        g_assert_cmpmem(out->str, out->len,
                        "\x88\x05\x03\xe9"
                        "bye",
                        7);
        g_string_truncate(out, 0);
        frame_append_close(out, CLOSE_PROTOCOL, NULL);
        g_assert_cmpmem(out->str, out->len, "\x88\x02\x03\xea", 4);
        g_string_truncate(out, 0);
        frame_append_close(out, CLOSE_NORMAL, reason);
        g_assert_cmpuint(out->len, ==, 2 + FRAME_CONTROL_MAX);
        /* Cut between characters: 122 r, and "ü" would be bytes 123 and 124. */
        memcpy(reason + 122, "\xc3\xbc", 2);
        g_string_truncate(out, 0);
        frame_append_close(out, CLOSE_NORMAL, reason);
        g_assert_cmpuint(out->len, ==, 2 + 2 + 122);
        g_assert_cmpint(frame_close_status("\x03\xe8", 2), ==, 1000);
        g_assert_cmpint(frame_close_status("", 0), ==, 0);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *path = g_strdup_printf("/websocket-frame/decode/%s", cases[i].name);

                g_test_add_data_func(path, (gconstpointer)i, test_decode);
        }
        g_test_add_func("/websocket-frame/lengths", test_lengths);
        g_test_add_func("/websocket-frame/close", test_close);
        return g_test_run();
}
