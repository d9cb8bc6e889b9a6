/* Printing (see print.h). A cell holds text as it is, and anything else as JSON on one line; null is empty.
 */
#include "cli/paddleflow/print.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "cli/paddleflow/grid.h"
#include "cli/table.h"

enum { COLUMNS_MAX = 64 };

/* ---- cells ---- */

static json_t *member_at(const json_t *row, const char *key)
{
        g_auto(GStrv) parts = g_strsplit(key, ".", -1);
        json_t *value = (json_t *)row;

        for (char **part = parts; *part; part++)
                value = json_object_get(value, *part);
        return value;
}

/* Lines stay lines; what would drive the terminal becomes '?'. */
static char *visible_lines(const char *text)
{
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

        for (char **line = lines; *line; line++) {
                char *visible = text_visible(*line);

                g_free(*line);
                *line = visible;
        }
        return g_strjoinv("\n", lines);
}

static char *decoded(const char *text)
{
        gsize len = 0;
        g_autofree guchar *bytes = g_base64_decode(text, &len);
        g_autofree char *copy = g_strndup((const char *)bytes, len);

        return g_utf8_make_valid(copy, -1);
}

static char *cell_text(const json_t *value, bool base64)
{
        g_autofree char *text = NULL;

        if (!value || json_is_null(value))
                return NULL;
        if (!json_is_string(value))
                return json_is_boolean(value) ? g_strdup(json_is_true(value) ? "True" : "False")
                                              : json_format(value);
        text = base64 ? decoded(json_string_value(value)) : g_strdup(json_string_value(value));
        g_strchomp(text);
        return visible_lines(text);
}

/* ---- forms ---- */

static void print_grid(const json_t *rows, const PaddleFlowColumn *columns, gsize n)
{
        g_autoptr(GPtrArray) heads = g_ptr_array_new(), cells = g_ptr_array_new_with_free_func(g_free);
        g_autofree char *text = NULL;
        gsize i;
        json_t *row;

        for (gsize c = 0; c < n; c++)
                g_ptr_array_add(heads, (gpointer)columns[c].head);
        g_ptr_array_add(heads, NULL);
        json_array_foreach(rows, i, row) {
                for (gsize c = 0; c < n; c++)
                        g_ptr_array_add(cells, cell_text(member_at(row, columns[c].key), columns[c].base64));
        }
        text = grid_format((const char *const *)heads->pdata, cells);
        fputs(text, stdout);
}

/* A table each up to the next column that stands apart. */
static void print_grids(const json_t *rows, const PaddleFlowColumn *columns)
{
        while (columns->head) {
                gsize n = 1;

                while (columns[n].head && !columns[n].apart)
                        n++;
                print_grid(rows, columns, n);
                columns += n;
        }
}

static json_t *keyed(const json_t *row, const PaddleFlowColumn *columns)
{
        json_t *object = json_object();

        for (; columns->head; columns++) {
                json_t *value = member_at(row, columns->key);

                if (columns->base64 && json_is_string(value)) {
                        g_autofree char *text = decoded(json_string_value(value));

                        json_object_set_new(object, columns->head, json_string(text));
                } else {
                        json_object_set(object, columns->head, value ? value : json_null());
                }
        }
        return object;
}

static void print_json(const json_t *rows, const PaddleFlowColumn *columns)
{
        g_autoptr(json_t) list = json_array();
        g_autoptr(JsonText) text = NULL;
        gsize i;
        json_t *row;

        json_array_foreach(rows, i, row)
                json_array_append_new(list, keyed(row, columns));
        text = json_dumps(list, JSON_INDENT(4));
        puts(text);
}

static void print_text(const json_t *rows, const PaddleFlowColumn *columns)
{
        gsize i;
        json_t *row;

        json_array_foreach(rows, i, row) {
                for (const PaddleFlowColumn *column = columns; column->head; column++) {
                        g_autofree char *cell = cell_text(member_at(row, column->key), column->base64);

                        printf("%s%s", column > columns ? "\t" : "", cell ? cell : "");
                }
                putchar('\n');
        }
}

/* ---- rows ---- */

static json_t *rows_of(const PaddleFlowCommand *command, json_t *reply, GError **error)
{
        json_t *items;

        if (command->rows)
                return command->rows(reply, error);
        if (!command->items)
                return json_pack("[O]", reply);
        items = json_object_get(reply, command->items);
        return json_is_array(items) ? json_incref(items) : json_array(); /* null: none */
}

/* "id,name" as columns of those names; `columns` has room for COLUMNS_MAX and the end. */
static bool choose_columns(const PaddleFlowArgs *args, char **fields, PaddleFlowColumn *columns,
                           GError **error)
{
        gsize n = 0;

        for (char **field = fields; *field; field++) {
                if (!*g_strstrip(*field) || n == COLUMNS_MAX)
                        return err_set(error, ERR_FAILED,
                                       "--fieldlist: '%.100s' is not a list of at most %d fields", *field,
                                       COLUMNS_MAX);
                columns[n++] = (PaddleFlowColumn){ .head = *field, .key = *field };
        }
        columns[n] = (PaddleFlowColumn){ 0 };
        return true;
}

static const char *fields_said(const PaddleFlowArgs *args)
{
        const PaddleFlowCommand *command = args->command;

        for (const PaddleFlowParam *option = command->options; option && option->name; option++)
                if (command->fields_option && strcmp(option->name, command->fields_option) == 0)
                        return args->options[option - command->options];
        return NULL;
}

static void print_rows(const PaddleFlowArgs *args, const json_t *rows, const PaddleFlowColumn *columns)
{
        if (strcmp(args->output, "json") == 0)
                print_json(rows, columns);
        else if (strcmp(args->output, "text") == 0)
                print_text(rows, columns);
        else
                print_grids(rows, columns);
}

/* "cluster[{0}] create success, cluster id[{id}]" */
static void print_done(const PaddleFlowArgs *args, const json_t *reply)
{
        for (const char *c = args->command->done; *c;) {
                const char *end = *c == '{' ? strchr(c, '}') : NULL;
                g_autofree char *name = end ? g_strndup(c + 1, (gsize)(end - c - 1)) : NULL;
                const char *value;

                if (!end) {
                        putchar(*c++);
                        continue;
                }
                value = g_ascii_isdigit(*name) ? args->words[*name - '0']
                                               : json_string_value(json_object_get(reply, name));
                printf("%s", value ? value : "");
                c = end + 1;
        }
        putchar('\n');
}

bool paddleflow_print(const PaddleFlowArgs *args, json_t *reply, GError **error)
{
        const PaddleFlowCommand *command = args->command;
        PaddleFlowColumn chosen[COLUMNS_MAX + 1];
        const char *fields = fields_said(args);
        g_auto(GStrv) list = fields ? g_strsplit(fields, ",", -1) : NULL;
        g_autoptr(json_t) rows = NULL;
        const char *marker;

        if (command->print)
                return command->print(reply, error);
        if (!command->columns) {
                print_done(args, reply);
                return true;
        }
        rows = rows_of(command, reply, error);
        if (!rows || (list && !choose_columns(args, list, chosen, error)))
                return false;
        print_rows(args, rows, list ? chosen : command->columns);
        marker = json_string_value(json_object_get(reply, "nextMarker"));
        if (command->marker)
                printf("marker: %s\n", marker && *marker ? marker : "None");
        return true;
}

/* ---- what has a form of its own ---- */

bool print_version(json_t *reply, GError **error)
{
        g_autoptr(json_t) both =
                json_pack("{s:s, s:O}", "clientVersion", PADDLE_VERSION, "serverVersion", reply);
        g_autoptr(JsonText) text = json_dumps(both, JSON_INDENT(4));

        puts(text);
        return true;
}

static void print_lines(const char *text)
{
        g_autofree char *visible = visible_lines(text ? text : "");

        fputs(visible, stdout);
        if (*visible && !g_str_has_suffix(visible, "\n"))
                putchar('\n');
}

static const char *text_in(const json_t *object, const char *name)
{
        const char *text = json_string_value(json_object_get(object, name));

        return text ? text : "";
}

static void print_tasks(const json_t *log)
{
        gsize i;
        json_t *task;

        json_array_foreach(json_object_get(log, "taskList"), i, task) {
                const json_t *info = json_object_get(task, "logInfo");

                printf("task: %s\n", text_in(task, "taskID"));
                print_lines(text_in(info, "logContent"));
                printf("has next page: %s  truncated: %s\n",
                       json_is_true(json_object_get(info, "hasNextPage")) ? "True" : "False",
                       json_is_true(json_object_get(info, "truncated")) ? "True" : "False");
        }
}

static void print_one_log(const json_t *log)
{
        gsize i;
        json_t *event;

        printf("job: %s\n", *text_in(log, "jobID") ? text_in(log, "jobID") : text_in(log, "name"));
        print_tasks(log);
        json_array_foreach(json_object_get(log, "eventList"), i, event)
                print_lines(json_string_value(event));
}

bool print_job_log(json_t *reply, GError **error)
{
        print_one_log(reply);
        return true;
}

bool print_run_log(json_t *reply, GError **error)
{
        gsize i;
        json_t *log;

        printf("run: %s\n", text_in(reply, "runID"));
        print_lines(text_in(reply, "submitLog"));
        json_array_foreach(json_object_get(reply, "runLog"), i, log)
                print_one_log(log);
        return true;
}
