/* Bytes of a server as the client reads them: replies, and the events in their bodies. The first byte says
 * how the rest is cut into pieces and whether the reply answers a HEAD; the meaning must not depend on the
 * cuts. */
#include <stddef.h>
#include <stdint.h>

#include "net/reply-parser.h"
#include "net/sse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool note_event(const char *id, const char *event, const char *text, void *arg)
{
        unsigned *hash = arg;

        *hash = *hash * 31 + g_str_hash(text) + (id ? g_str_hash(id) : 1) + (event ? g_str_hash(event) : 2);
        return true;
}

static bool feed_events(const char *data, gsize len, void *arg, GError **error)
{
        return sse_parser_feed(arg, data, len, error);
}

typedef struct {
        bool ok;
        int status;
        unsigned events;
        unsigned body;
} Meaning;

static Meaning read_reply(const char *data, size_t size, size_t step, bool head_only, bool events)
{
        unsigned hash = 7;
        g_autoptr(SseParser) sse = sse_parser_new(note_event, &hash);
        HttpCall call = { .method = "GET",
                          .path = "/",
                          .body_max = 1 << 20,
                          .receive = events ? feed_events : NULL,
                          .arg = sse };
        g_auto(HttpReply) reply = { 0 };
        Exchange exchange = { .call = &call, .reply = &reply };
        g_autoptr(ReplyParser) parser = reply_parser_new(&exchange, head_only);
        g_autoptr(GError) error = NULL;
        Meaning meaning = { .ok = true };

        for (size_t at = 0; meaning.ok && at < size; at += step) {
                gsize used, part = MIN(step, size - at);

                meaning.ok = reply_parser_feed(parser, data + at, part, &used, &error);
                g_assert_cmpuint(used, <=, part);
                g_assert_true(meaning.ok || error);
                if (meaning.ok && used < part) {
                        g_assert_true(reply_parser_is_done(parser));
                        break;
                }
        }
        meaning.ok = meaning.ok && reply_parser_end(parser, NULL);
        (void)reply_parser_keeps(parser);
        if (meaning.ok) {
                meaning.status = reply.status;
                meaning.events = hash;
                meaning.body = g_str_hash(reply.body->str) + (unsigned)reply.body->len;
                (void)http_reply_error(&reply, NULL);
        }
        return meaning;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        if (size < 1 || size > 1 << 16)
                return 0;
        size_t step = 1 + (data[0] & 63);
        bool head_only = data[0] & 64, events = data[0] & 128;
        Meaning whole = read_reply((const char *)data + 1, size - 1, size, head_only, events);
        Meaning cut = read_reply((const char *)data + 1, size - 1, step, head_only, events);

        g_assert_cmpint(whole.ok, ==, cut.ok);
        g_assert_cmpint(whole.status, ==, cut.status);
        g_assert_cmpuint(whole.events, ==, cut.events);
        g_assert_cmpuint(whole.body, ==, cut.body);
        return 0;
}
