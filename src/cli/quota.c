/* Bars of quota (see quota.h). A cell shows the value at its middle; every part above 0 gets a cell. */
#include "cli/quota.h"

#include "cli/listing.h"
#include "cli/table.h"

enum { BAR_COLUMNS = 34 };

typedef enum { PART_OWN, PART_BORROWED, PART_LENT, PART_FREE, PARTS } Part;

static const struct {
        const char *utf8, *ascii, *paint;
} looks[PARTS] = {
        [PART_OWN] = { "█", "#", "\033[32m" },
        [PART_BORROWED] = { "▓", "+", "\033[33m" },
        [PART_LENT] = { "▒", "-", "\033[35m" },
        [PART_FREE] = { "░", ".", "\033[2m" },
};

const char *quota_legend(bool utf8)
{
        return utf8 ? "█ used  ▓ borrowed  ▒ lent  ░ free  │ min  ] max"
                    : "# used  + borrowed  - lent  . free  | min  ] max";
}

/* The cell in which `amount` ends; an amount above 0 reaches at least the first. */
static int cell_of(gint64 amount, gint64 whole, int cells)
{
        double at = (double)amount / (double)whole * cells;

        return amount > 0 ? CLAMP((int)(at + 0.5), 1, cells) : 0;
}

const char *quota_note(void)
{
        return "borrowed: above min, may be taken back. default-queue: for PaddleFlow clients";
}

static void append_cells(GString *out, const Quota *quota, int cells, bool utf8, bool colour)
{
        int own = cell_of(MIN(quota->used, MAX(quota->min, 0)), quota->whole, cells);
        int used = cell_of(quota->used, quota->whole, cells);
        int lent = cell_of(MIN(quota->used + quota->lent, quota->whole), quota->whole, cells);
        int min = quota->min > 0 && quota->min < quota->whole ? cell_of(quota->min, quota->whole, cells) : -1;
        Part last = PARTS;

        for (int i = 0; i < cells; i++) {
                Part part = i < own ? PART_OWN : i < used ? PART_BORROWED : i < lent ? PART_LENT : PART_FREE;

                if (colour && part != last)
                        g_string_append_printf(out, "\033[0m%s", looks[part].paint);
                last = part;
                g_string_append(out, i == min ? (utf8 ? "│" : "|")
                                     : utf8   ? looks[part].utf8
                                              : looks[part].ascii);
        }
        g_string_append(out, colour ? "\033[0m" : "");
}

void quota_bar(GString *out, const Quota *quota, int columns, bool utf8, bool colour)
{
        int cells = columns - 2;

        if (quota->whole <= 0 || cells < 1) {
                g_string_append_printf(out, "%*s", MAX(columns, 0), "");
                return;
        }
        g_string_append_c(out, '[');
        append_cells(out, quota, cells, utf8, colour);
        g_string_append_c(out, ']');
}

ResourceLimits amounts_of(const json_t *object, const char *member)
{
        ResourceLimits limits = { 0 };

        if (!limits_parse("", json_object_get(object, member), true, &limits, NULL))
                limits = (ResourceLimits){ 0 };
        return limits;
}

Quota quota_of(const json_t *figures, int kind, const ResourceLimits *total)
{
        ResourceLimits max = amounts_of(figures, "max"), min = amounts_of(figures, "min"),
                       used = amounts_of(figures, "used"), lent = amounts_of(figures, "lent");
        bool limited = max.said & 1u << kind;

        return (Quota){ .used = used.amount.amount[kind],
                        .min = min.amount.amount[kind],
                        .lent = lent.amount.amount[kind],
                        .whole = limited ? max.amount.amount[kind] : total->amount.amount[kind],
                        .open = !limited };
}

static void append_words(GString *out, const Quota *quota, int kind)
{
        g_autofree char *used = quantity_text(kind, quota->used);
        g_autofree char *min = quantity_text(kind, quota->min);
        g_autofree char *whole = quantity_text(kind, quota->whole);
        g_autofree char *lent = quantity_text(kind, quota->lent);
        g_autofree char *borrowed = quantity_text(kind, MAX(quota->used - quota->min, 0));

        g_string_append_printf(out, "%s used", used);
        if (quota->min > 0)
                g_string_append_printf(out, ", min %s", min);
        g_string_append_printf(out, quota->open ? ", of %s in all" : ", max %s", whole);
        if (quota->lent > 0)
                g_string_append_printf(out, ", %s lent", lent);
        if (quota->used > quota->min && quota->min > 0)
                g_string_append_printf(out, ", %s borrowed", borrowed);
}

char *quota_lines(const json_t *figures, const ResourceLimits *total, const Terminal *terminal)
{
        g_autoptr(GString) out = g_string_new(NULL);

        for (int kind = 0; kind < resource_kinds(); kind++) {
                Quota quota = quota_of(figures, kind, total);

                if (quota.used == 0 && quota.min == 0 && quota.whole == 0)
                        continue;
                g_string_append_printf(out, "  %-15s ", resource_name(kind));
                quota_bar(out, &quota, BAR_COLUMNS, terminal->utf8, terminal->out_colour);
                g_string_append(out, "  ");
                append_words(out, &quota, kind);
                g_string_append_c(out, '\n');
        }
        return g_string_free(g_steal_pointer(&out), FALSE);
}
