/* Listings (see listing.h). */
#include "cli/listing.h"

#include <string.h>

#include "base/err.h"
#include "base/json-out.h"
#include "base/yaml.h"
#include "model/resources.h"

static const char *const formats[] = {
        [FORMAT_TABLE] = "table", [FORMAT_WIDE] = "wide", [FORMAT_JSON] = "json",
        [FORMAT_YAML] = "yaml",   [FORMAT_NAME] = "name", [FORMAT_CSV] = "csv",
};

struct Listing {
        const Cli *cli;
        Format format;
        const Column *columns;
        const char *name;
        Table *table;
        guint64 items;
};

/* "table, json or yaml": what the verb's row has. */
static const char *forms_of(const Verb *verb)
{
        const Option *option = verb->options;

        while (strcmp(option->name, "format") != 0)
                option++;
        return option->help;
}

bool format_parse(const Cli *cli, const char *text, Format *ret, GError **error)
{
        const char *forms = forms_of(cli->verb);
        g_auto(GStrv) parts = g_strsplit(forms, " or ", -1);
        g_autofree char *list = g_strjoinv(", ", parts), *sentence = g_strjoinv(" and ", parts);
        g_auto(GStrv) taken = g_strsplit(list, ", ", -1);

        for (gsize i = 0; i < G_N_ELEMENTS(formats); i++) {
                if (strcmp(text, formats[i]) != 0 || !g_strv_contains((const char *const *)taken, text))
                        continue;
                *ret = (Format)i;
                return true;
        }
        return err_set(error, ERR_USAGE, "-o: '%.40s' is not a form of output of 'paddle %s'\nForms are %s.",
                       text, cli->verb->name, sentence);
}

const char *text_of(const json_t *object, const char *name)
{
        const char *text = json_string_value(json_object_get(object, name));

        return text ? text : "";
}

gint64 int_of(const json_t *object, const char *name)
{
        return json_integer_value(json_object_get(object, name));
}

bool is_set(const json_t *object, const char *name)
{
        const json_t *value = json_object_get(object, name);

        return value && !json_is_null(value);
}

gint64 time_of(const json_t *object, const char *name)
{
        g_autoptr(GDateTime) time = NULL;

        if (!json_is_string(json_object_get(object, name)))
                return 0;
        time = g_date_time_new_from_iso8601(text_of(object, name), NULL);
        return time ? g_date_time_to_unix(time) * 1000 + g_date_time_get_microsecond(time) / 1000 : 0;
}

static char *local_time(gint64 ms)
{
        g_autoptr(GDateTime) time = ms ? g_date_time_new_from_unix_local(ms / 1000) : NULL;

        return time ? g_date_time_format(time, "%Y-%m-%d %H:%M:%S %Z") : NULL;
}

char *local_stamp(const char *time)
{
        g_autoptr(GDateTime) utc = g_date_time_new_from_iso8601(time, NULL);
        g_autoptr(GDateTime) local = utc ? g_date_time_to_local(utc) : NULL;
        g_autofree char *clock = local ? g_date_time_format(local, "%Y-%m-%d %H:%M:%S") : NULL;
        g_autofree char *zone = local ? g_date_time_format(local, "%Z") : NULL;

        if (!local)
                return g_strdup(time);
        return g_strdup_printf("%s.%03d %s", clock, g_date_time_get_microsecond(local) / 1000, zone);
}

char *local_time_text(const json_t *object, const char *name)
{
        return local_time(time_of(object, name));
}

char *listing_time(const json_t *object, const char *name, const Terminal *terminal)
{
        enum { WIDE = 110 }; /* columns of a terminal that has place for the whole */
        gint64 ms = time_of(object, name);
        g_autoptr(GDateTime) time = ms ? g_date_time_new_from_unix_local(ms / 1000) : NULL;
        g_autoptr(GDateTime) now = g_date_time_new_now_local();

        if (!time || !terminal->out_is_terminal || terminal->width >= WIDE)
                return local_time(ms);
        return g_date_time_format(time, g_date_time_get_year(time) == g_date_time_get_year(now)
                                                ? "%m-%d %H:%M"
                                                : "%Y-%m-%d");
}

/* A resource quantity in readable form ("23.5Gi"), or any other value unchanged. */
static char *amount_text(const char *name, const json_t *value)
{
        int kind = resource_find(name);
        gint64 amount;

        if (kind >= 0 && json_is_string(value) &&
            quantity_parse(name, kind, json_string_value(value), &amount, NULL))
                return quantity_text(kind, amount);
        return value_text(value);
}

static char *object_text(const json_t *object)
{
        g_autoptr(GString) out = g_string_new(NULL);
        const char *name;
        json_t *value;

        json_object_foreach((json_t *)object, name, value) {
                g_autofree char *text = amount_text(name, value);

                g_string_append_printf(out, "%s%s %s", out->len ? ", " : "", name, text ? text : "-");
        }
        return out->len ? g_string_free(g_steal_pointer(&out), FALSE) : NULL;
}

static char *array_text(const json_t *array)
{
        g_autoptr(GString) out = g_string_new(NULL);
        gsize i;
        json_t *value;

        json_array_foreach(array, i, value) {
                g_autofree char *text = value_text(value);

                g_string_append_printf(out, "%s%s", i > 0 ? ", " : "", text ? text : "-");
        }
        return out->len ? g_string_free(g_steal_pointer(&out), FALSE) : NULL;
}

char *value_text(const json_t *value)
{
        if (!value || json_is_null(value))
                return NULL;
        if (json_is_object(value))
                return object_text(value);
        if (json_is_array(value))
                return array_text(value);
        if (json_is_boolean(value))
                return g_strdup(json_is_true(value) ? "yes" : "no");
        if (!json_is_string(value))
                return json_format(value);
        return *json_string_value(value) ? g_strdup(json_string_value(value)) : NULL;
}

static bool is_shown(const Listing *listing, const Column *column)
{
        return !column->wide || listing->format == FORMAT_WIDE;
}

static void paint_columns(const Listing *listing)
{
        guint n = 0;

        for (const Column *column = listing->columns; column->head; column++)
                if (is_shown(listing, column))
                        table_paint(listing->table, n++, column->paint);
}

Listing *listing_new(const Cli *cli, Format format, const Column *columns, const char *name)
{
        Listing *listing = g_new0(Listing, 1);
        g_autoptr(GPtrArray) heads = g_ptr_array_new();
        g_autoptr(GArray) fits = g_array_new(FALSE, FALSE, sizeof(TableFit));

        *listing = (Listing){ .cli = cli, .format = format, .columns = columns, .name = name };
        for (const Column *column = columns; column->head; column++) {
                if (is_shown(listing, column)) {
                        g_ptr_array_add(heads, (gpointer)column->head);
                        g_array_append_val(fits, column->fit);
                }
        }
        g_ptr_array_add(heads, NULL);
        listing->table = table_new((const char *const *)heads->pdata);
        if (cli->terminal.out_colour)
                paint_columns(listing);
        if (cli->terminal.out_is_terminal && format == FORMAT_TABLE)
                table_fit(listing->table, cli->terminal.width, cli->terminal.utf8,
                          (const TableFit *)(gpointer)fits->data);
        return listing;
}

void listing_free(Listing *listing)
{
        if (!listing)
                return;
        table_free(listing->table);
        g_free(listing);
}

/* "2026-03-01T10:00:00.123Z", the server's format. */
static bool is_time(const char *text)
{
        gsize len = strlen(text);

        return len >= 20 && len <= 24 && text[4] == '-' && text[10] == 'T' && text[len - 1] == 'Z';
}

char *cell_text(const json_t *value)
{
        const char *text = json_string_value(value);
        g_autoptr(GDateTime) time = text && is_time(text) ? g_date_time_new_from_iso8601(text, NULL) : NULL;

        return time ? local_time(g_date_time_to_unix(time) * 1000) : value_text(value);
}

static void add_row(Listing *listing, const json_t *item)
{
        g_autoptr(GPtrArray) cells = g_ptr_array_new_with_free_func(g_free);

        for (const Column *column = listing->columns; column->head; column++)
                if (is_shown(listing, column))
                        g_ptr_array_add(cells, column->cell
                                                       ? column->cell(item, &listing->cli->terminal)
                                                       : cell_text(json_object_get(item, column->member)));
        table_row(listing->table, (const char *const *)cells->pdata);
}

static void print_json(const json_t *value, const char *before, const char *after)
{
        g_autofree char *text = json_format_lines(value);

        printf("%s%s%s", before, text, after);
}

static void print_name(const json_t *value, const char *name)
{
        g_autofree char *visible = text_visible(text_of(value, name));

        puts(visible);
}

void format_print(const json_t *value, Format format, const char *name)
{
        g_autofree char *yaml = NULL;

        if (format == FORMAT_NAME) {
                print_name(value, name);
        } else if (format == FORMAT_YAML) {
                yaml = yaml_format(value);
                fputs(yaml, stdout);
        } else {
                print_json(value, "", "\n");
        }
}

static void add_yaml(const json_t *item)
{
        g_autoptr(json_t) list = json_array();

        json_array_append(list, (json_t *)item); /* consecutive block lists of one item form one list */
        format_print(list, FORMAT_YAML, NULL);
}

void listing_add(Listing *listing, const json_t *item)
{
        switch (listing->format) {
        case FORMAT_TABLE:
        case FORMAT_WIDE: add_row(listing, item); break;
        case FORMAT_JSON: print_json(item, listing->items > 0 ? ",\n" : "[\n", ""); break;
        case FORMAT_YAML: add_yaml(item); break;
        case FORMAT_NAME: print_name(item, listing->name); break;
        case FORMAT_CSV: break; /* no listing has it */
        }
        listing->items++;
}

void listing_page(Listing *listing)
{
        if (listing->format == FORMAT_TABLE || listing->format == FORMAT_WIDE)
                table_print(listing->table, 0, stdout);
}

void listing_end(Listing *listing)
{
        listing_page(listing);
        if (listing->format == FORMAT_JSON)
                fputs(listing->items > 0 ? "\n]\n" : "[]\n", stdout);
        else if (listing->format == FORMAT_YAML && listing->items == 0)
                fputs("[]\n", stdout);
}

enum { PAGE = 100 };

static char *page_path(const char *path, gint64 limit, const char *after)
{
        g_autofree char *escaped = after ? url_escape(after) : NULL;

        return g_strdup_printf("%s%climit=%" G_GINT64_FORMAT "%s%s", path, strchr(path, '?') ? '&' : '?',
                               limit, after ? "&after=" : "", after ? escaped : "");
}

bool listing_fetch(Listing *listing, HttpClient *client, const char *path, gint64 limit, ListingCount *ret,
                   GError **error)
{
        gint64 asked = limit > 0 ? limit : G_MAXINT64, left = asked;
        g_autofree char *after = NULL;

        do {
                g_autofree char *page = page_path(path, MIN(left, PAGE), after);
                g_autoptr(json_t) reply = NULL;
                gsize i;
                json_t *item;

                if (after) /* the last page is held back, so that its columns match a following page */
                        listing_page(listing);
                if (!http_call_json(client, "GET", page, NULL, &reply, error))
                        return false;
                json_array_foreach(json_object_get(reply, "items"), i, item)
                        listing_add(listing, item);
                left -= (gint64)json_array_size(json_object_get(reply, "items"));
                ret->more = int_of(reply, "more");
                g_free(after);
                after = is_set(reply, "next") ? g_strdup(text_of(reply, "next")) : NULL;
        } while (after && left > 0);
        ret->items = asked - left;
        return true;
}

bool listing_pages(Listing *listing, HttpClient *client, const char *path, gint64 limit, gint64 *ret_items,
                   GError **error)
{
        ListingCount count;

        if (!listing_fetch(listing, client, path, limit, &count, error))
                return false;
        listing_end(listing);
        *ret_items = count.items;
        return true;
}

bool listing_show(Cli *cli, const char *form, const Column *columns, const char *name, const char *path,
                  gint64 limit, const char *none, GError **error)
{
        g_autoptr(Listing) listing = NULL;
        Format format;
        gint64 items;

        if (!format_parse(cli, form, &format, error) || !cli_client(cli, error))
                return false;
        listing = listing_new(cli, format, columns, name);
        if (!listing_pages(listing, cli->client, path, limit, &items, error))
                return false;
        if (items == 0 && (format == FORMAT_TABLE || format == FORMAT_WIDE))
                cli_say(cli, "%s", none);
        return true;
}

json_t *listing_items(HttpClient *client, const char *path, GError **error)
{
        g_autoptr(json_t) all = json_array();
        g_autofree char *after = NULL;

        do {
                g_autofree char *page = page_path(path, PAGE, after);
                g_autoptr(json_t) reply = NULL;

                if (!http_call_json(client, "GET", page, NULL, &reply, error))
                        return NULL;
                json_array_extend(all, json_object_get(reply, "items"));
                g_free(after);
                after = is_set(reply, "next") ? g_strdup(text_of(reply, "next")) : NULL;
        } while (after);
        return g_steal_pointer(&all);
}
