/* Quantities (see resources.h) have the grammar of Kubernetes: a decimal number, optionally with a plus sign,
 * then a binary unit (Ki..Ei), a decimal one (n..E) or an exponent. All arithmetic has 128 bits and rounds
 * up, so "0.1" of a core is exactly 100 milli-cores, and no request is rounded down. */
#include "model/resources.h"

#include <string.h>

#include "base/err.h"

typedef unsigned __int128 Wide;

static const struct {
        const char *suffix;
        int ten, two; /* the unit is 10^ten × 2^two */
} units[] = {
        { "", 0, 0 },    { "n", -9, 0 },  { "u", -6, 0 },  { "m", -3, 0 },  { "k", 3, 0 },   { "M", 6, 0 },
        { "G", 9, 0 },   { "T", 12, 0 },  { "P", 15, 0 },  { "E", 18, 0 },  { "Ki", 0, 10 }, { "Mi", 0, 20 },
        { "Gi", 0, 30 }, { "Ti", 0, 40 }, { "Pi", 0, 50 }, { "Ei", 0, 60 },
};

enum {
        DIGITS_MAX = 38,   /* 10^38 fits 128 bits; 10^38 × 2^60 does not, which no sensible quantity needs */
        EXPONENT_MAX = 30, /* 10^30 fits 128 bits */
        NANO_SCALE = 9,
};

typedef struct {
        Wide digits; /* without the decimal point */
        int ten, two;
} Quantity;

/* "12.50" is 1250 × 10^-2. False without a digit, or with too many. */
static bool take_digits(const char **at, Quantity *ret)
{
        int significant = 0;
        bool seen = false, point = false;

        for (;; (*at)++) {
                if (**at == '.' && !point) {
                        point = true;
                } else if (g_ascii_isdigit(**at)) {
                        seen = true;
                        ret->digits = ret->digits * 10 + (Wide)(**at - '0');
                        ret->ten -= point;
                        significant += ret->digits != 0;
                        if (significant > DIGITS_MAX)
                                return false;
                } else {
                        return seen;
                }
        }
}

/* "e3", "E-2". */
static bool take_exponent(const char *text, Quantity *ret)
{
        bool negative = text[1] == '-';
        const char *digits = text + 1 + (text[1] == '-' || text[1] == '+');
        size_t len = strspn(digits, "0123456789");
        int exponent = 0;

        if (len == 0 || len > 3 || digits[len])
                return false;
        for (size_t i = 0; i < len; i++)
                exponent = exponent * 10 + (digits[i] - '0');
        ret->ten += negative ? -exponent : exponent;
        return true;
}

static bool take_unit(const char *text, Quantity *ret)
{
        for (size_t i = 0; i < G_N_ELEMENTS(units); i++) {
                if (strcmp(text, units[i].suffix) != 0)
                        continue;
                ret->ten += units[i].ten;
                ret->two += units[i].two;
                return true;
        }
        return (*text == 'e' || *text == 'E') && take_exponent(text, ret);
}

static bool multiply(Wide *value, int base, int times)
{
        for (int i = 0; i < times; i++)
                if (__builtin_mul_overflow(*value, (Wide)base, value))
                        return false;
        return true;
}

/* The quantity in units of 10^-scale, rounded up. False if it exceeds `most`. */
static bool to_integer(Quantity quantity, int scale, Wide most, Wide *ret)
{
        Wide value = quantity.digits, divisor = 1;

        quantity.ten += scale;
        for (; quantity.ten < 0 && value && value % 10 == 0; quantity.ten++)
                value /= 10;
        if (value == 0) {
                *ret = 0;
                return true;
        }
        if (quantity.ten > EXPONENT_MAX)
                return false;
        if (quantity.ten < -EXPONENT_MAX - DIGITS_MAX) { /* less than one unit in any case */
                *ret = 1;
                return true;
        }
        if (!multiply(&value, 2, quantity.two) || !multiply(&value, 10, MAX(quantity.ten, 0)))
                return false;
        if (!multiply(&divisor, 10, MAX(-quantity.ten, 0)))
                value = 1; /* a divisor above 10^38: less than one unit */
        else
                value = value / divisor + (value % divisor != 0);
        if (value > most)
                return false;
        *ret = value;
        return true;
}

static bool parse_wide(const char *text, int scale, Wide most, Wide *ret)
{
        Quantity quantity = { 0 };

        text += text && *text == '+';
        return text && take_digits(&text, &quantity) && take_unit(text, &quantity) &&
               to_integer(quantity, scale, most, ret);
}

static bool parse(const char *text, int scale, gint64 *ret)
{
        Wide value;

        if (!parse_wide(text, scale, G_MAXINT64, &value))
                return false;
        *ret = (gint64)value;
        return true;
}

bool cpu_parse(const char *what, const char *text, gint64 *ret_milli, GError **error)
{
        if (parse(text, 3, ret_milli))
                return true;
        return err_set(error, ERR_INVALID, "%s: '%.64s' is not a number of cores such as 2, 1.5 or 500m",
                       what, text ? text : "");
}

bool memory_parse(const char *what, const char *text, gint64 *ret_bytes, GError **error)
{
        if (parse(text, 0, ret_bytes))
                return true;
        return err_set(error, ERR_INVALID,
                       "%s: '%.64s' is not an amount of memory such as 512Mi, 4Gi or 1000000", what,
                       text ? text : "");
}

bool quantity_parse(const char *what, int kind, const char *text, gint64 *ret, GError **error)
{
        if (text && !*text) {
                *ret = 0;
                return true;
        }
        if (kind == RESOURCE_CPU)
                return cpu_parse(what, text, ret, error);
        if (kind == RESOURCE_MEMORY || kind == RESOURCE_STORAGE)
                return memory_parse(what, text, ret, error);
        if (parse(text, 0, ret))
                return true;
        return err_set(error, ERR_INVALID, "%s: '%.64s' is not a number of devices such as 1 or 8", what,
                       text ? text : "");
}

bool quantity_parse_nano(const char *what, const char *text, __int128 *ret_nano, GError **error)
{
        Wide value;

        if (!parse_wide(text, NANO_SCALE, (Wide)G_MAXINT64 * QUANTITY_NANO, &value))
                return err_set(error, ERR_INVALID, "%s: '%.64s' is not a quantity such as 500m, 2 or 4Gi",
                               what, text ? text : "");
        *ret_nano = (__int128)value;
        return true;
}

/* ---- printing ---- */

/* Digits without printf: every answer about a job has a dozen of them. */
static char *integer_format(gint64 value, const char *suffix)
{
        char digits[24], *at = digits + sizeof digits - 1;
        guint64 left = value < 0 ? -(guint64)value : (guint64)value;

        *at = '\0';
        do {
                *--at = (char)('0' + left % 10);
                left /= 10;
        } while (left);
        if (value < 0)
                *--at = '-';
        return g_strconcat(at, suffix, NULL);
}

char *cpu_format(gint64 milli)
{
        return milli % 1000 == 0 ? integer_format(milli / 1000, "") : integer_format(milli, "m");
}

static const char *const binary[] = { "", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei" };
static const char *const decimal[] = { "", "k", "M", "G", "T", "P", "E" };

/* In the largest unit that gives a whole number. */
static char *scaled_format(gint64 value, gint64 base, const char *const *suffixes)
{
        int unit = 0;

        while (unit < 6 && value && value % base == 0) {
                value /= base;
                unit++;
        }
        return integer_format(value, suffixes[unit]);
}

char *memory_format(gint64 bytes)
{
        return scaled_format(bytes, 1024, binary);
}

char *quantity_format(int kind, gint64 amount)
{
        if (kind == RESOURCE_CPU && amount % 1000)
                return integer_format(amount, "m");
        if (kind == RESOURCE_CPU)
                return scaled_format(amount / 1000, 1000, decimal);
        if (kind != RESOURCE_MEMORY && kind != RESOURCE_STORAGE)
                return scaled_format(amount, 1000, decimal);
        return amount % 1000 ? scaled_format(amount, 1024, binary) : scaled_format(amount, 1000, decimal);
}

/* 12500 thousandths are "12.5"; without trailing zeros. */
static char *thousandths(gint64 value, const char *suffix)
{
        char fraction[] = { '.', (char)('0' + ABS(value) % 1000 / 100), (char)('0' + ABS(value) % 100 / 10),
                            (char)('0' + ABS(value) % 10), '\0' };
        g_autofree char *tail = NULL;

        for (int end = 3; end > 0 && fraction[end] == '0'; end--)
                fraction[end] = '\0';
        tail = g_strconcat(fraction[1] ? fraction : "", suffix, NULL);
        return integer_format(value / 1000, tail);
}

/* In the largest unit with a value of at least 1, with at most one decimal, rounded down: at least the
 * displayed amount is really free. */
static char *bytes_text(gint64 bytes)
{
        gint64 unit = 1;
        int i = 0;

        while (i < 6 && bytes / unit >= 1024) {
                unit *= 1024;
                i++;
        }
        return thousandths((gint64)((__int128)bytes * 10 / unit) * 100, binary[i]);
}

char *quantity_text(int kind, gint64 amount)
{
        if (amount == RESOURCE_UNLIMITED)
                return g_strdup("unlimited");
        if (kind == RESOURCE_CPU)
                return thousandths(amount, "");
        return kind == RESOURCE_MEMORY || kind == RESOURCE_STORAGE ? bytes_text(amount)
                                                                   : integer_format(amount, "");
}

char *quantity_named(int kind, gint64 amount)
{
        static const struct {
                const char *one, *many;
        } nouns[RESOURCE_OTHERS] = {
                [RESOURCE_CPU] = { " core", " cores" },
                [RESOURCE_MEMORY] = { " of memory", " of memory" },
                [RESOURCE_GPU] = { " GPU", " GPUs" },
                [RESOURCE_STORAGE] = { " of storage", " of storage" },
        };
        g_autofree char *text = quantity_text(kind, amount);
        bool one = amount == (kind == RESOURCE_CPU ? 1000 : 1);

        if (kind >= RESOURCE_OTHERS)
                return g_strconcat(text, " ", resource_name(kind), NULL);
        return g_strconcat(text, one ? nouns[kind].one : nouns[kind].many, NULL);
}
