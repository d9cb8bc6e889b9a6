/* Tables (see table.h). */
#include "cli/table.h"

#include <string.h>

struct Table {
        guint columns;
        char **heads;
        bool *right;
        int *widths;
        GPtrArray *cells; /* char *, row after row */
        bool head_printed;
};

int text_columns(const char *text)
{
        int columns = 0;

        for (; *text; text = g_utf8_next_char(text)) {
                gunichar c = g_utf8_get_char(text);

                if (!g_unichar_iszerowidth(c))
                        columns += g_unichar_iswide(c) ? 2 : 1;
        }
        return columns;
}

char *text_visible(const char *text)
{
        g_autofree char *valid = g_utf8_make_valid(text, -1);
        g_autoptr(GString) out = g_string_sized_new(strlen(valid));

        for (const char *at = valid; *at; at = g_utf8_next_char(at)) {
                gunichar c = g_utf8_get_char(at);

                g_string_append_unichar(out, g_unichar_iscntrl(c) ? '?' : c);
        }
        return g_string_free(g_steal_pointer(&out), FALSE);
}

char *text_cut(const char *text, int max, bool utf8)
{
        const char *mark = utf8 ? "…" : "...";
        int room = max - text_columns(mark), columns = 0;
        const char *at = text;

        if (text_columns(text) <= max)
                return g_strdup(text);
        for (; *at; at = g_utf8_next_char(at)) {
                gunichar c = g_utf8_get_char(at);

                columns += g_unichar_iszerowidth(c) ? 0 : g_unichar_iswide(c) ? 2 : 1;
                if (columns > room)
                        break;
        }
        return room > 0 ? g_strdup_printf("%.*s%s", (int)(at - text), text, mark) : g_strdup("");
}

Table *table_new(const char *const *heads)
{
        Table *table = g_new0(Table, 1);

        table->columns = g_strv_length((char **)heads);
        table->heads = g_new0(char *, table->columns + 1);
        table->right = g_new0(bool, table->columns);
        table->widths = g_new0(int, table->columns);
        table->cells = g_ptr_array_new_with_free_func(g_free);
        for (guint i = 0; i < table->columns; i++) {
                table->right[i] = heads[i][0] == '>';
                table->heads[i] = g_strdup(heads[i] + table->right[i]);
                table->widths[i] = text_columns(table->heads[i]);
        }
        return table;
}

void table_free(Table *table)
{
        if (!table)
                return;
        g_strfreev(table->heads);
        g_free(table->right);
        g_free(table->widths);
        g_ptr_array_unref(table->cells);
        g_free(table);
}

void table_row(Table *table, const char *const *cells)
{
        for (guint i = 0; i < table->columns; i++) {
                char *cell = text_visible(cells[i] && *cells[i] ? cells[i] : "-");

                table->widths[i] = MAX(table->widths[i], text_columns(cell));
                g_ptr_array_add(table->cells, cell);
        }
}

static void print_row(const Table *table, char *const *cells, int indent, FILE *to)
{
        g_autoptr(GString) line = g_string_new(NULL);

        for (guint i = 0; i < table->columns; i++) {
                int blanks = table->widths[i] - text_columns(cells[i]);

                g_string_append_printf(line, "%*s", table->right[i] ? blanks : 0, "");
                g_string_append(line, cells[i]);
                g_string_append_printf(line, "%*s", (table->right[i] ? 0 : blanks) + 2, "");
        }
        g_strchomp(line->str);
        fprintf(to, "%*s%s\n", indent, "", line->str);
}

void table_print(Table *table, int indent, FILE *to)
{
        if (!table->head_printed)
                print_row(table, table->heads, indent, to);
        table->head_printed = true;
        for (guint i = 0; i < table->cells->len; i += table->columns)
                print_row(table, (char *const *)table->cells->pdata + i, indent, to);
        g_ptr_array_set_size(table->cells, 0);
}
