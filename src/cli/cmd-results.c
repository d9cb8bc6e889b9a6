/* paddle results: results of jobs, best first. */
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/number.h"
#include "cli/listing.h"
#include "cli/verbs.h"

typedef struct {
        Common common;
        char *sort, *format;
} Results;

static const Option options[] = {
        { "sort", 0, OPTION_STRING, offsetof(Results, sort), "NAME",
          "best first: NAME for the lowest value ever reported, -NAME for the highest" },
        FORMAT_OPTION_OF(offsetof(Results, format), "table, wide, csv, json, yaml or name", "table"),
        COMMON_OPTIONS,
        { 0 },
};

/* ---- the rows ---- */

/* The number of a result that a column shows. */
typedef enum { LAST, MINIMUM, MAXIMUM } Kind;
static const char *const kinds[] = { [LAST] = "last", [MINIMUM] = "min", [MAXIMUM] = "max" };

static double number_of(const json_t *row, const char *name, Kind kind)
{
        const json_t *value =
                json_object_get(json_object_get(json_object_get(row, "results"), name), kinds[kind]);

        return json_is_number(value) ? json_number_value(value) : NAN;
}

typedef struct {
        const char *name;
        Kind kind;
} Order;

/* "loss", "-accuracy". */
static Order order_parse(const char *text)
{
        return *text == '-' ? (Order){ text + 1, MAXIMUM } : (Order){ text, MINIMUM };
}

static int by_index(const json_t *a, const json_t *b)
{
        gint64 x = int_of(a, "index"), y = int_of(b, "index");

        return (x > y) - (x < y);
}

/* The value to sort by. A job whose last value is not a number has diverged, whatever its earlier values. */
static double rank_of(const json_t *row, const Order *order)
{
        return isnan(number_of(row, order->name, LAST)) ? NAN : number_of(row, order->name, order->kind);
}

/* The best first; jobs without results, or diverged ones, last. */
static int compare(gconstpointer first, gconstpointer second, gpointer arg)
{
        const json_t *a = *(json_t *const *)first, *b = *(json_t *const *)second;
        const Order *order = arg;
        double x = order ? rank_of(a, order) : 0, y = order ? rank_of(b, order) : 0;
        bool no_x = isnan(x), no_y = isnan(y);

        if (no_x || no_y || x == y)
                return no_x != no_y ? no_x - no_y : by_index(a, b);
        return (x < y) == (order->kind == MINIMUM) ? -1 : 1;
}

/* The names in field `member` of all rows, in order of first occurrence; borrowed. */
static GPtrArray *names_of(const GPtrArray *rows, const char *member)
{
        g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
        GPtrArray *names = g_ptr_array_new();

        for (guint i = 0; i < rows->len; i++) {
                const char *name;
                json_t *value;

                json_object_foreach(json_object_get(rows->pdata[i], member), name, value) {
                        if (g_hash_table_add(seen, (gpointer)name))
                                g_ptr_array_add(names, (gpointer)name);
                }
        }
        return names;
}

/* ---- cells ---- */

static char *number_text(double number)
{
        return isnan(number) ? NULL : g_strdup_printf("%.6g", number);
}

typedef struct {
        const GPtrArray *rows;
        GPtrArray *parameters, *names;
        const Order *order; /* or NULL */
        bool wide;          /* with columns for the least and the greatest value */
} Sheet;

/* The wide table has that column anyway. */
static bool has_best(const Sheet *sheet)
{
        return sheet->order && !sheet->wide;
}

/* "loss", "loss.min". */
static char *head_of(const char *name, Kind kind)
{
        return kind == LAST ? g_strdup(name) : g_strdup_printf("%s.%s", name, kinds[kind]);
}

static Kind last_kind(const Sheet *sheet)
{
        return sheet->wide ? MAXIMUM : LAST;
}

static void add_heads(const Sheet *sheet, GPtrArray *heads)
{
        g_ptr_array_add(heads, g_strdup("JOB"));
        g_ptr_array_add(heads, g_strdup("STATE"));
        for (guint i = 0; i < sheet->parameters->len; i++)
                g_ptr_array_add(heads, g_strconcat(">", sheet->parameters->pdata[i], NULL));
        if (has_best(sheet))
                g_ptr_array_add(heads,
                                g_strdup_printf(">%s.%s", sheet->order->name, kinds[sheet->order->kind]));
        for (guint i = 0; i < sheet->names->len; i++)
                for (Kind kind = LAST; kind <= last_kind(sheet); kind++) {
                        g_autofree char *head = head_of(sheet->names->pdata[i], kind);

                        g_ptr_array_add(heads, g_strconcat(">", head, NULL));
                }
        g_ptr_array_add(heads, NULL);
}

static void add_row(const Sheet *sheet, const json_t *row, Table *table)
{
        g_autoptr(GPtrArray) cells = g_ptr_array_new_with_free_func(g_free);

        g_ptr_array_add(cells, g_strdup(text_of(row, "name")));
        g_ptr_array_add(cells, g_strdup(text_of(row, "state")));
        for (guint i = 0; i < sheet->parameters->len; i++)
                g_ptr_array_add(cells, g_strdup(text_of(json_object_get(row, "parameters"),
                                                        sheet->parameters->pdata[i])));
        if (has_best(sheet))
                g_ptr_array_add(cells, number_text(number_of(row, sheet->order->name, sheet->order->kind)));
        for (guint i = 0; i < sheet->names->len; i++)
                for (Kind kind = LAST; kind <= last_kind(sheet); kind++)
                        g_ptr_array_add(cells, number_text(number_of(row, sheet->names->pdata[i], kind)));
        table_row(table, (const char *const *)cells->pdata);
}

static void print_table(const Cli *cli, const Sheet *sheet)
{
        g_autoptr(GPtrArray) heads = g_ptr_array_new_with_free_func(g_free);
        g_autoptr(Table) table = NULL;
        g_autofree TableFit *fits = NULL;

        add_heads(sheet, heads);
        table = table_new((const char *const *)heads->pdata);
        fits = g_new0(TableFit, heads->len);
        for (guint i = 1; i + 1 < heads->len; i++)
                fits[i].spare =
                        i == 1 ? (int)heads->len : (int)i; /* narrow screens drop these last columns first */
        if (cli->terminal.out_is_terminal && !sheet->wide)
                table_fit(table, cli->terminal.width, cli->terminal.utf8, fits);
        for (guint i = 0; i < sheet->rows->len; i++)
                add_row(sheet, sheet->rows->pdata[i], table);
        table_print(table, 0, stdout);
}

/* Quoted if RFC 4180 requires it. */
static void add_field(GString *line, const char *text)
{
        g_auto(GStrv) parts = strpbrk(text, ",\"\r\n") ? g_strsplit(text, "\"", -1) : NULL;
        g_autofree char *quoted = parts ? g_strjoinv("\"\"", parts) : NULL;

        g_string_append_printf(line, "%s%s%s%s", line->len ? "," : "", quoted ? "\"" : "",
                               quoted ? quoted : text, quoted ? "\"" : "");
}

static void add_number(GString *line, double number)
{
        g_autofree char *text = isnan(number) ? g_strdup("") : double_format(number);

        add_field(line, text);
}

static void print_csv(const Sheet *sheet)
{
        g_autoptr(GString) line = g_string_new("job,state");

        for (guint i = 0; i < sheet->parameters->len; i++)
                add_field(line, sheet->parameters->pdata[i]);
        for (guint i = 0; i < sheet->names->len; i++)
                for (Kind kind = LAST; kind <= MAXIMUM; kind++) {
                        g_autofree char *head = head_of(sheet->names->pdata[i], kind);

                        add_field(line, head);
                }
        puts(line->str);
        for (guint r = 0; r < sheet->rows->len; r++) {
                const json_t *row = sheet->rows->pdata[r];

                g_string_truncate(line, 0);
                add_field(line, text_of(row, "name"));
                add_field(line, text_of(row, "state"));
                for (guint i = 0; i < sheet->parameters->len; i++)
                        add_field(line,
                                  text_of(json_object_get(row, "parameters"), sheet->parameters->pdata[i]));
                for (guint i = 0; i < sheet->names->len; i++)
                        for (Kind kind = LAST; kind <= MAXIMUM; kind++)
                                add_number(line, number_of(row, sheet->names->pdata[i], kind));
                puts(line->str);
        }
}

/* ---- the verb ---- */

static bool check_order(const Sheet *sheet, GError **error)
{
        g_autofree char *known = NULL;

        if (!sheet->order || sheet->names->len == 0)
                return true;
        for (guint i = 0; i < sheet->names->len; i++)
                if (strcmp(sheet->names->pdata[i], sheet->order->name) == 0)
                        return true;
        g_ptr_array_add(sheet->names, NULL);
        known = g_strjoinv(", ", (char **)sheet->names->pdata);
        return err_set(error, ERR_USAGE, "--sort: no job reported '%s'\nThere are: %s.", sheet->order->name,
                       known);
}

static void print_values(const GPtrArray *rows, Format format)
{
        g_autoptr(json_t) list = json_array();

        for (guint i = 0; i < rows->len; i++)
                json_array_append(list, rows->pdata[i]);
        format_print(list, format, NULL);
}

static bool run(Cli *cli, const void *target, char *const *words, GError **error)
{
        const Results *results = target;
        Format format;
        Order order = results->sort ? order_parse(results->sort) : (Order){ .name = NULL };
        g_autofree char *path = job_path(words[0], "/results");
        g_autoptr(json_t) items = NULL;
        g_autoptr(GPtrArray) rows = g_ptr_array_new(), parameters = NULL, names = NULL;
        Sheet sheet = { .rows = rows, .order = results->sort ? &order : NULL };

        if (!format_parse(cli, results->format, &format, error))
                return false;
        sheet.wide = format == FORMAT_WIDE;
        if (!cli_client(cli, error) || !(items = listing_items(cli->client, path, error)))
                return false;
        for (gsize i = 0; i < json_array_size(items); i++)
                g_ptr_array_add(rows, json_array_get(items, i));
        g_ptr_array_sort_with_data(rows, compare, (gpointer)sheet.order);
        sheet.parameters = parameters = names_of(rows, "parameters");
        sheet.names = names = names_of(rows, "results");
        if (!check_order(&sheet, error))
                return false;
        if (format == FORMAT_CSV)
                print_csv(&sheet);
        else if (format == FORMAT_JSON || format == FORMAT_YAML)
                print_values(rows, format);
        else if (format == FORMAT_NAME)
                for (guint i = 0; i < rows->len; i++)
                        format_print(rows->pdata[i], FORMAT_NAME, "name");
        else
                print_table(cli, &sheet);
        if (names->len == 0)
                cli_say(cli, "no numbers were reported; programs call paddlecloud.report(loss=...) or append "
                             "lines NAME=VALUE to $PADDLE_PROGRESS_FILE");
        return true;
}

const Verb verb_results = {
        .name = "results",
        .args = "JOB",
        .summary = "Show the results that a job, or each job of an array, reported",
        .about =
                "Programs report numbers with `paddlecloud.report(loss=0.1)` or as lines NAME=VALUE that "
                "they append "
                "to the file $PADDLE_PROGRESS_FILE. The table has a row for each job, with the parameters of "
                "its sweep "
                "and the last number of each name. With --sort the best come first: by the lowest number ever reported, or with `-` in front by the highest. -o csv and -o wide have the last, the lowest and the highest.",
        .examples =
                "paddle submit --job-name sw --sweep lr=0.1,0.01 --sweep depth=2,3 -- python train.py\n"
                "paddle results sw --sort loss\tthe lowest loss first\n"
                "paddle results sw --sort=-accuracy -o csv\tthe highest accuracy first, for a spreadsheet",
        .options = options,
        .size = sizeof(Results),
        .min_words = 1,
        .max_words = 1,
        .words = WORDS_JOBS,
        .run = run,
};
