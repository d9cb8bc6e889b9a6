/* Conversion of numbers from and to text (see number.h). */
#include "base/number.h"

#include <string.h>

#include "base/err.h"

static bool digits_parse(const char *text, size_t len, gint64 *ret)
{
        gint64 value = 0;

        if (len == 0)
                return false;
        for (size_t i = 0; i < len; i++) {
                if (!g_ascii_isdigit(text[i]) || __builtin_mul_overflow(value, 10, &value) ||
                    __builtin_add_overflow(value, text[i] - '0', &value))
                        return false;
        }
        *ret = value;
        return true;
}

bool number_parse(const char *what, const char *text, gint64 min, gint64 max, gint64 *ret, GError **error)
{
        gint64 value = 0;

        if (!text || !digits_parse(text, strlen(text), &value) || value < min || value > max)
                return err_set(error, ERR_INVALID,
                               "%s: '%s' is not a whole number from %" G_GINT64_FORMAT
                               " to %" G_GINT64_FORMAT,
                               what, text ? text : "", min, max);
        *ret = value;
        return true;
}

/* Parses one part of "1h30m". Units go from large to small, each at most once: *left is the number of
 * remaining units. */
static bool take_part(const char **text, size_t *left, gint64 *total)
{
        static const struct {
                const char *unit;
                gint64 ms;
        } units[] = { { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 }, { "d", 86400000 } };
        size_t digits = strspn(*text, "0123456789"),
               letters = strspn(*text + digits, "abcdefghijklmnopqrstuvwxyz");
        gint64 value = 0;

        for (size_t i = MIN(*left, G_N_ELEMENTS(units)); i > 0; i--) {
                if (strlen(units[i - 1].unit) != letters ||
                    strncmp(*text + digits, units[i - 1].unit, letters) != 0)
                        continue;
                if (!digits_parse(*text, digits, &value) ||
                    __builtin_mul_overflow(value, units[i - 1].ms, &value) ||
                    __builtin_add_overflow(*total, value, total))
                        return false;
                *text += digits + letters;
                *left = i - 1;
                return true;
        }
        return false;
}

static bool parts_parse(const char *text, gint64 *ret_ms)
{
        size_t left = G_MAXSIZE;
        gint64 total = 0;

        do
                if (!take_part(&text, &left, &total))
                        return false;
        while (*text);
        *ret_ms = total;
        return true;
}

/* "1:30:00": hours, minutes, seconds. */
static bool clock_parse(const char *text, gint64 *ret_ms)
{
        size_t hours = strspn(text, "0123456789");
        const char *rest = text + hours;
        gint64 h = 0, m = 0, s = 0;

        if (strlen(rest) != 6 || rest[0] != ':' || rest[3] != ':' || !digits_parse(text, hours, &h) ||
            !digits_parse(rest + 1, 2, &m) || !digits_parse(rest + 4, 2, &s) || m > 59 || s > 59 ||
            __builtin_mul_overflow(h, 3600000, &h) || __builtin_add_overflow(h, m * 60000 + s * 1000, &h))
                return false;
        *ret_ms = h;
        return true;
}

static bool seconds_parse(const char *text, gint64 *ret_ms)
{
        gint64 value = 0;

        if (!digits_parse(text, strlen(text), &value) || __builtin_mul_overflow(value, 1000, &value))
                return false;
        *ret_ms = value;
        return true;
}

bool duration_parse(const char *what, const char *text, gint64 *ret_ms, GError **error)
{
        if (text && *text &&
            (seconds_parse(text, ret_ms) || parts_parse(text, ret_ms) || clock_parse(text, ret_ms)))
                return true;
        return err_set(error, ERR_INVALID,
                       "%s: '%s' is not a duration such as 90s, 15m, 1h30m, 1:30:00 or 2d", what,
                       text ? text : "");
}

bool duration_parse_unit(const char *what, const char *text, gint64 *ret_ms, GError **error)
{
        size_t digits = text ? strspn(text, "0123456789") : 0;

        if (digits > 0 && text[digits] == '\0' && strspn(text, "0") != digits)
                return err_set(error, ERR_INVALID,
                               "%s: '%.20s' has no unit\nSay %.20ss, %.20sm, %.20sh or %.20sd.", what, text,
                               text, text, text, text);
        return duration_parse(what, text, ret_ms, error);
}

bool boolean_parse(const char *what, const char *text, bool *ret, GError **error)
{
        static const struct {
                const char *word;
                bool value;
        } words[] = {
                { "true", true },   { "yes", true }, { "on", true },   { "1", true },
                { "false", false }, { "no", false }, { "off", false }, { "0", false },
        };

        for (size_t i = 0; text && i < G_N_ELEMENTS(words); i++) {
                if (g_ascii_strcasecmp(text, words[i].word) != 0)
                        continue;
                *ret = words[i].value;
                return true;
        }
        return err_set(error, ERR_INVALID, "%s: '%s' is not true or false", what, text ? text : "");
}

char *bytes_format(guint64 bytes)
{
        static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
        double value = (double)bytes;
        int unit = -1;

        if (bytes < 1024)
                return g_strdup_printf("%" G_GUINT64_FORMAT " B", bytes);
        while (value >= 1024 && unit < (int)G_N_ELEMENTS(units) - 1) {
                value /= 1024;
                unit++;
        }
        return g_strdup_printf("%.1f %s", value, units[unit]);
}

char *duration_format(gint64 ms)
{
        gint64 s = ms / 1000;

        if (ms < 1000)
                return g_strdup_printf("%" G_GINT64_FORMAT " ms", ms < 0 ? 0 : ms);
        if (s < 60)
                return g_strdup_printf("%.1f s", (double)ms / 1000);
        if (s < 3600)
                return g_strdup_printf("%dm %02ds", (int)(s / 60), (int)(s % 60));
        return g_strdup_printf("%" G_GINT64_FORMAT "h %02dm", s / 3600, (int)(s % 3600 / 60));
}

char *double_format(double number)
{
        enum { DIGITS_LEAST = 15, DIGITS_EXACT = 17 };
        char text[G_ASCII_DTOSTR_BUF_SIZE];

        for (int digits = DIGITS_LEAST; digits < DIGITS_EXACT; digits++) {
                g_autofree char *format = g_strdup_printf("%%.%dg", digits);

                g_ascii_formatd(text, sizeof text, format, number);
                if (g_ascii_strtod(text, NULL) == number)
                        return g_strdup(text);
        }
        return g_strdup(g_ascii_dtostr(text, sizeof text, number));
}
