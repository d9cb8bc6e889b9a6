/* Server-sent events, written and read; see sse.h and server.h. */
#include "net/sse.h"

#include <string.h>

#include "base/err.h"
#include "net/server.h"

struct SseParser {
        SseFunc event;
        void *arg;
        GString *line, *name, *data, *id;
        bool has_id, has_data, after_cr, begun, stopped;
};

/* Appends "FIELD: text\n"; one line for each line of the text. */
static void append_field(GString *out, const char *field, const char *text, bool many)
{
        for (;;) {
                gsize len = strcspn(text, "\r\n");

                g_string_append_printf(out, "%s: ", field);
                g_string_append_len(out, text, (gssize)len);
                g_string_append_c(out, '\n');
                if (!many || !text[len])
                        return;
                text += len + (text[len] == '\r' && text[len + 1] == '\n' ? 2 : 1);
        }
}

void sse_append(GString *out, const char *id, const char *event, const char *data)
{
        if (id)
                append_field(out, "id", id, false);
        if (event)
                append_field(out, "event", event, false);
        append_field(out, "data", data ? data : "", true);
        g_string_append_c(out, '\n');
}

SseParser *sse_parser_new(SseFunc event, void *arg)
{
        SseParser *parser = g_new0(SseParser, 1);

        parser->event = event;
        parser->arg = arg;
        parser->line = g_string_new(NULL);
        parser->name = g_string_new(NULL);
        parser->data = g_string_new(NULL);
        parser->id = g_string_new(NULL);
        return parser;
}

void sse_parser_free(SseParser *parser)
{
        if (!parser)
                return;
        g_string_free(parser->line, TRUE);
        g_string_free(parser->name, TRUE);
        g_string_free(parser->data, TRUE);
        g_string_free(parser->id, TRUE);
        g_free(parser);
}

bool sse_parser_is_stopped(const SseParser *parser)
{
        return parser->stopped;
}

static void take_data(SseParser *parser, const char *value)
{
        if (parser->has_data)
                g_string_append_c(parser->data, '\n');
        g_string_append(parser->data, value);
        parser->has_data = true;
}

static void take_name(SseParser *parser, const char *value)
{
        g_string_assign(parser->name, value);
}

static void take_id(SseParser *parser, const char *value)
{
        g_string_assign(parser->id, value);
        parser->has_id = true;
}

static const struct {
        const char *name;
        void (*take)(SseParser *parser, const char *value);
} fields[] = { { "data", take_data }, { "event", take_name }, { "id", take_id } };

static void take_field(SseParser *parser)
{
        const char *line = parser->line->str;
        gsize len = strcspn(line, ":");
        const char *value = line + len + (line[len] == ':');

        if (*value == ' ')
                value++;
        for (gsize i = 0; i < G_N_ELEMENTS(fields); i++)
                if (strlen(fields[i].name) == len && memcmp(fields[i].name, line, len) == 0)
                        fields[i].take(parser, value);
}

/* An empty line: the event is complete. One without data is dropped, as the standard has it. */
static bool dispatch(SseParser *parser)
{
        bool go_on = true;

        if (parser->has_data)
                go_on = parser->event(parser->has_id ? parser->id->str : NULL,
                                      parser->name->len ? parser->name->str : NULL, parser->data->str,
                                      parser->arg);
        g_string_truncate(parser->data, 0);
        g_string_truncate(parser->name, 0);
        parser->has_data = false;
        parser->stopped = !go_on;
        return go_on;
}

static bool end_line(SseParser *parser)
{
        bool go_on = true;

        if (!parser->begun && g_str_has_prefix(parser->line->str, "\xef\xbb\xbf"))
                g_string_erase(parser->line, 0, 3);
        parser->begun = true;
        if (parser->line->len == 0)
                go_on = dispatch(parser);
        else
                take_field(parser);
        g_string_truncate(parser->line, 0);
        return go_on;
}

bool sse_parser_feed(SseParser *parser, const char *data, gsize len, GError **error)
{
        for (gsize i = 0; i < len && !parser->stopped;) {
                gsize part = i;

                if (parser->after_cr && data[i] == '\n')
                        part = ++i;
                parser->after_cr = false;
                while (part < len && data[part] != '\n' && data[part] != '\r')
                        part++;
                if (part - i + parser->line->len + parser->data->len > SSE_EVENT_MAX)
                        return err_set(error, ERR_TOO_LARGE, "the server sent an event of more than %d bytes",
                                       SSE_EVENT_MAX);
                g_string_append_len(parser->line, data + i, (gssize)(part - i));
                i = part;
                if (i == len)
                        break;
                parser->after_cr = data[i++] == '\r';
                if (!end_line(parser))
                        return false;
        }
        return !parser->stopped;
}
