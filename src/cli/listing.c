/* Listings (see listing.h). */
#include "cli/listing.h"

#include <string.h>

#include "base/err.h"
#include "base/yaml.h"

static const char *const formats[] = {
        [FORMAT_TABLE] = "table", [FORMAT_WIDE] = "wide", [FORMAT_JSON] = "json",
        [FORMAT_YAML] = "yaml",   [FORMAT_NAME] = "name",
};

struct Listing {
        const Cli *cli;
        Format format;
        const Column *columns;
        const char *name;
        Table *table;
        guint64 items;
};

bool format_parse(const char *text, Format *ret, GError **error)
{
        for (gsize i = 0; i < G_N_ELEMENTS(formats); i++) {
                if (strcmp(text, formats[i]) != 0)
                        continue;
                *ret = (Format)i;
                return true;
        }
        return err_set(error, ERR_USAGE,
                       "-o: '%s' is not a form of output\nForms are table, wide, json, yaml and name.", text);
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

static bool is_shown(const Listing *listing, const Column *column)
{
        return !column->wide || listing->format == FORMAT_WIDE;
}

Listing *listing_new(const Cli *cli, Format format, const Column *columns, const char *name)
{
        Listing *listing = g_new0(Listing, 1);
        g_autoptr(GPtrArray) heads = g_ptr_array_new();

        *listing = (Listing){ .cli = cli, .format = format, .columns = columns, .name = name };
        for (const Column *column = columns; column->head; column++)
                if (is_shown(listing, column))
                        g_ptr_array_add(heads, (gpointer)column->head);
        g_ptr_array_add(heads, NULL);
        listing->table = table_new((const char *const *)heads->pdata);
        return listing;
}

void listing_free(Listing *listing)
{
        if (!listing)
                return;
        table_free(listing->table);
        g_free(listing);
}

static void add_row(Listing *listing, const json_t *item)
{
        g_autoptr(GPtrArray) cells = g_ptr_array_new_with_free_func(g_free);

        for (const Column *column = listing->columns; column->head; column++)
                if (is_shown(listing, column))
                        g_ptr_array_add(cells, column->cell(item, &listing->cli->terminal));
        table_row(listing->table, (const char *const *)cells->pdata);
}

static void print_json(const json_t *value, const char *before, const char *after)
{
        g_autoptr(JsonText) text = json_dumps(value, JSON_INDENT(2) | JSON_ENCODE_ANY);

        printf("%s%s%s", before, text ? text : "null", after);
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

        json_array_append(list, (json_t *)item); /* block lists of one, one after the other, are one list */
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
