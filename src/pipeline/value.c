/* Values as text (see value.h). */
#include "pipeline/value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool value_whole(double real, gint64 *ret)
{
        if (real < -9223372036854775808.0 || real >= 9223372036854775808.0 || real != trunc(real))
                return false;
        *ret = (gint64)real;
        return true;
}

/* "-1.25e-07": the digits without the dot, and where the dot belongs. */
static int split(const char *text, GString *digits)
{
        const char *exponent = strchr(text, 'e');
        gsize len = exponent ? (gsize)(exponent - text) : strlen(text);
        const char *dot = memchr(text, '.', len);
        int whole = (int)(dot ? (gsize)(dot - text) : len);

        g_string_append_len(digits, text, whole);
        if (dot)
                g_string_append_len(digits, dot + 1, (gssize)(len - (gsize)whole - 1));
        return whole + (exponent ? (int)strtol(exponent + 1, NULL, 10) : 0);
}

static void write_digits(GString *out, const GString *digits, int dot)
{
        if (dot <= 0) {
                g_string_append(out, "0.");
                for (int i = dot; i < 0; i++)
                        g_string_append_c(out, '0');
                g_string_append(out, digits->str);
                return;
        }
        for (int i = 0; i < MAX(dot, (int)digits->len); i++) {
                if (i == dot)
                        g_string_append_c(out, '.');
                g_string_append_c(out, i < (int)digits->len ? digits->str[i] : '0');
        }
}

void value_write_real(GString *out, double real)
{
        g_autoptr(GString) digits = g_string_new(NULL);
        char text[40]; /* 17 digits, a sign, a dot and an exponent */
        const char *from = text;
        int dot;

        if (!isfinite(real)) {
                g_string_append(out, isnan(real) ? "NaN" : real < 0 ? "-Inf" : "+Inf");
                return;
        }
        for (int precision = 0; precision < 17; precision++) {
                char format[8];

                g_snprintf(format, sizeof(format), "%%.%de", precision);
                if (g_ascii_strtod(g_ascii_formatd(text, sizeof(text), format, real), NULL) == real)
                        break;
        }
        if (*from == '-') {
                if (real != 0)
                        g_string_append_c(out, '-');
                from++;
        }
        dot = split(from, digits);
        while (digits->len > 1 && digits->str[digits->len - 1] == '0')
                g_string_truncate(digits, digits->len - 1);
        write_digits(out, digits, dot);
}

char *value_env_real(double real)
{
        char *text = g_strdup_printf("%.8f", real);

        if (strchr(text, '.')) {
                char *end = text + strlen(text);

                while (end[-1] == '0')
                        *--end = '\0';
                if (end[-1] == '.')
                        end[-1] = '\0';
        }
        return text;
}

static void write_list(GString *out, const Definition *definition, const Value *list)
{
        g_string_append_c(out, '[');
        for (guint32 i = 0; i < list->list.count; i++) {
                if (i)
                        g_string_append_c(out, ' ');
                value_write(out, definition, &definition->items[list->list.first + i]);
        }
        g_string_append_c(out, ']');
}

void value_write(GString *out, const Definition *definition, const Value *value)
{
        switch ((ValueKind)value->kind) {
        case VALUE_INT: g_string_append_printf(out, "%" G_GINT64_FORMAT, value->whole); break;
        case VALUE_FLOAT: value_write_real(out, value->real); break;
        case VALUE_TEXT: g_string_append(out, definition_text(definition, value->text.text)); break;
        case VALUE_LIST: write_list(out, definition, value); break;
        case VALUE_NONE: break;
        }
}
