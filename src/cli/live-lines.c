/* Incomplete lines at the bottom of a terminal (see live-lines.h). ECMA-48: CSI K clears to the end of the
 * line, CSI A moves up. A line never uses the last column: a terminal would wrap it, and moving up would miss
 * a row. */
#include "cli/live-lines.h"

#include <string.h>

#include "base/text-cut.h"
#include "cli/tame.h"

enum { ESCAPE = 0x1b };

typedef struct {
        char *member, *text;
} LiveLine;

struct LiveLines {
        GPtrArray *lines; /* LiveLine, in order of appearance */
        guint drawn;      /* rows on the terminal */
};

static void live_line_free(gpointer data)
{
        LiveLine *line = data;

        g_free(line->member);
        g_free(line->text);
        g_free(line);
}

LiveLines *live_lines_new(void)
{
        LiveLines *lines = g_new0(LiveLines, 1);

        lines->lines = g_ptr_array_new_with_free_func(live_line_free);
        return lines;
}

void live_lines_free(LiveLines *lines)
{
        if (!lines)
                return;
        g_ptr_array_unref(lines->lines);
        g_free(lines);
}

static bool find(const LiveLines *lines, const char *member, guint *ret)
{
        for (*ret = 0; *ret < lines->lines->len; (*ret)++)
                if (strcmp(((const LiveLine *)lines->lines->pdata[*ret])->member, member) == 0)
                        return true;
        return false;
}

void live_lines_set(LiveLines *lines, const char *member, const char *text)
{
        LiveLine *line;
        guint i;

        if (!find(lines, member, &i)) {
                line = g_new0(LiveLine, 1);
                line->member = g_strdup(member);
                g_ptr_array_add(lines->lines, line);
        }
        line = lines->lines->pdata[i];
        g_free(line->text);
        line->text = g_strdup(text);
}

void live_lines_drop(LiveLines *lines, const char *member)
{
        guint i;

        if (find(lines, member, &i))
                g_ptr_array_remove_index(lines->lines, i);
}

void live_lines_clear(LiveLines *lines)
{
        g_ptr_array_set_size(lines->lines, 0);
}

/* ---- one line, limited in columns ---- */

/* A character, or a colour, which has no width. */
typedef struct {
        const char *at;
        gsize len;
        int columns;
} Cell;

static Cell cell_at(const char *text)
{
        gunichar c = g_utf8_get_char(text);

        if (*text == ESCAPE) /* a sequence that tame.c passes ends with one of them */
                return (Cell){ text, strcspn(text, "mK") + 1, 0 };
        return (Cell){ text, (gsize)(g_utf8_next_char(text) - text), unichar_columns(c) };
}

/* Removes the last visible character, and its combining characters. */
static void step_back(GArray *cells)
{
        for (guint i = cells->len; i-- > 0;)
                if (g_array_index(cells, Cell, i).columns > 0) {
                        g_array_remove_index(cells, i);
                        return;
                }
}

/* Backspaces only move the cursor: something is erased when it is overwritten. */
static GArray *read_cells(const char *text)
{
        GArray *cells = g_array_new(FALSE, FALSE, sizeof(Cell));
        guint back = 0;

        while (*text) {
                Cell cell = cell_at(text);

                text += cell.len;
                if (*cell.at == '\b') {
                        back++;
                        continue;
                }
                if (*cell.at == '\r' || (*cell.at == ESCAPE && cell.at[cell.len - 1] == 'K'))
                        continue;
                if (*cell.at == '\t')
                        cell = (Cell){ " ", 1, 1 };
                for (; cell.columns > 0 && back > 0; back--)
                        step_back(cells);
                g_array_append_val(cells, cell);
        }
        return cells;
}

/* Colours in the omitted part still apply to the rest. */
static char *join_cells(const GArray *cells, int max, bool from_start)
{
        GString *out = g_string_new(NULL);
        int total = 0, columns = 0;
        bool coloured = false;

        for (guint i = 0; i < cells->len; i++)
                total += g_array_index(cells, Cell, i).columns;
        for (guint i = 0; i < cells->len; i++) {
                const Cell *cell = &g_array_index(cells, Cell, i);
                bool fits = from_start ? columns + cell->columns <= max : total - columns <= max;

                columns += cell->columns;
                coloured |= *cell->at == ESCAPE;
                if (fits || *cell->at == ESCAPE)
                        g_string_append_len(out, cell->at, (gssize)cell->len);
        }
        if (coloured)
                g_string_append(out, "\033[0m");
        return g_string_free(out, FALSE);
}

char *live_line_fit(const char *text, int max, bool redrawn)
{
        g_autoptr(GString) tamed = g_string_new(NULL);
        g_autoptr(GArray) cells = NULL;
        Tame tame = { 0 };

        tame_add(&tame, text, strlen(text), tamed);
        tame_clear(&tame); /* an incomplete colour sequence */
        cells = read_cells(tamed->str);
        return join_cells(cells, MAX(max, 0), redrawn);
}

/* ---- the terminal ---- */

void live_lines_erase(LiveLines *lines, GString *out)
{
        if (lines->drawn > 0)
                g_string_append(out, "\r\033[K");
        for (; lines->drawn > 1; lines->drawn--)
                g_string_append(out, "\033[A\033[K");
        lines->drawn = 0;
}

void live_lines_draw(LiveLines *lines, int width, int height, LogPrefixer *prefixer, GString *out)
{
        guint most = (guint)CLAMP(height - 1, 1, LIVE_LINES_MAX);
        int name_max = MAX(width / 2 - 2, 0); /* the name and its bar have at most half of a row */

        for (guint i = 0; i < MIN(lines->lines->len, most); i++) {
                const LiveLine *line = lines->lines->pdata[i];
                bool redrawn = *line->text == '\r';
                g_autofree char *text = NULL;

                if (i > 0)
                        g_string_append_c(out, '\n');
                text = live_line_fit(line->text + redrawn,
                                     width - 1 -
                                             log_prefixer_begin(prefixer, line->member, name_max, redrawn,
                                                                out),
                                     redrawn);
                g_string_append(out, text);
                lines->drawn++;
        }
}
