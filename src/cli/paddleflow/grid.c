/* Tables in a frame (see grid.h; doc/reference/paddleflow-api.md, "Its output"). A column is at least two
 * wider than its head; a column in which all that is said is numbers goes to the right, their points below
 * each other. */
#include "cli/paddleflow/grid.h"

#include <string.h>

#include "base/text-cut.h"
#include "cli/table.h"

enum { HEAD_ROOM = 2 };

typedef struct {
        bool number;
        int width, decimals; /* columns behind the point, with it */
} GridColumn;

static bool is_number(const char *text)
{
        char *end = NULL;

        if (!g_ascii_isdigit(*text) && !((*text == '-' || *text == '+') && g_ascii_isdigit(text[1])))
                return false;
        g_ascii_strtod(text, &end);
        return *end == '\0' && !strpbrk(text, "xX");
}

static int decimals_of(const char *text)
{
        const char *point = strchr(text, '.');

        return point ? (int)strlen(point) : 0;
}

/* The widest of a text's lines. */
static int text_width(const char *text)
{
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
        int width = 0;

        for (char **line = lines; *line; line++)
                width = MAX(width, text_columns(*line));
        return width;
}

static const char *cell_at(const GPtrArray *cells, guint at)
{
        return cells->pdata[at] ? cells->pdata[at] : "";
}

static GridColumn measure(const char *head, const GPtrArray *cells, guint column, guint columns)
{
        GridColumn found = { .width = text_columns(head) + HEAD_ROOM };
        bool all = true;
        int whole = 0;

        for (guint i = column; i < cells->len; i += columns) {
                const char *cell = cell_at(cells, i);

                if (cells->pdata[i]) { /* what is not there says nothing; an empty text is a text */
                        all = all && is_number(cell);
                        found.number = all;
                }
                found.decimals = MAX(found.decimals, decimals_of(cell));
        }
        for (guint i = column; i < cells->len; i += columns) {
                const char *cell = cell_at(cells, i);

                whole = MAX(whole, text_columns(cell) - decimals_of(cell));
                found.width = MAX(found.width, text_width(cell));
        }
        if (found.number)
                found.width = MAX(found.width, whole + found.decimals);
        return found;
}

static void append_rule(GString *out, const GridColumn *columns, guint n, char sign)
{
        for (guint i = 0; i < n; i++) {
                g_string_append_c(out, '+');
                for (int j = 0; j < columns[i].width + 2; j++)
                        g_string_append_c(out, sign);
        }
        g_string_append(out, "+\n");
}

/* One line of a cell; `is_cell`: not the head. */
static void append_text(GString *out, const GridColumn *column, const char *text, bool is_cell)
{
        int behind = column->number && is_cell && *text ? column->decimals - decimals_of(text) : 0;
        int blanks = column->width - text_columns(text) - behind;

        g_string_append_printf(out, "| %*s%s%*s ", column->number ? blanks : 0, "", text,
                               column->number ? behind : blanks, "");
}

static void append_row(GString *out, const GridColumn *columns, guint n, const char *const *texts,
                       bool is_cell)
{
        g_autofree GStrv *lines = g_new0(GStrv, n);
        guint height = 1;

        for (guint i = 0; i < n; i++) {
                lines[i] = g_strsplit(texts[i] && *texts[i] ? texts[i] : " ", "\n", -1);
                height = MAX(height, g_strv_length(lines[i]));
        }
        for (guint line = 0; line < height; line++) {
                for (guint i = 0; i < n; i++) {
                        const char *text = line < g_strv_length(lines[i]) ? lines[i][line] : "";

                        append_text(out, &columns[i], strcmp(text, " ") == 0 ? "" : text, is_cell);
                }
                g_string_append(out, "|\n");
        }
        for (guint i = 0; i < n; i++)
                g_strfreev(lines[i]);
}

char *grid_format(const char *const *heads, const GPtrArray *cells)
{
        guint n = g_strv_length((char **)heads);
        g_autofree GridColumn *columns = g_new0(GridColumn, n);
        g_autoptr(GString) out = g_string_new(NULL);

        for (guint i = 0; i < n; i++)
                columns[i] = measure(heads[i], cells, i, n);
        append_rule(out, columns, n, '-');
        append_row(out, columns, n, heads, false);
        append_rule(out, columns, n, '=');
        for (guint row = 0; row < cells->len; row += n) {
                append_row(out, columns, n, (const char *const *)cells->pdata + row, true);
                append_rule(out, columns, n, '-');
        }
        if (cells->len == 0)
                append_rule(out, columns, n, '-');
        return g_string_free(g_steal_pointer(&out), FALSE);
}
