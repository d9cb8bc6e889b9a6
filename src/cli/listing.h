/* Listings in the formats of -o. The columns are a table of functions, the items are JSON objects from the
 * server. Items are printed page by page as they arrive, so memory does not grow with their number. */
#pragma once

#include "cli/cli.h"
#include "cli/table.h"

typedef enum { FORMAT_TABLE, FORMAT_WIDE, FORMAT_JSON, FORMAT_YAML, FORMAT_NAME, FORMAT_CSV } Format;

/* The row for a verb's table; `offset` is that of a char * of its target. The text for help is also the list of the forms that
 * the verb takes, as format_parse reads it. */
/* clang-format off */
#define FORMAT_OPTION_OF(offset, forms, form)                                                                \
        { "format", 'o', OPTION_STRING, offset, "FORM", forms, .fallback = form, .alias = "output" }
/* clang-format on */
#define FORMAT_OPTION(offset) FORMAT_OPTION_OF(offset, "table, wide, json, yaml or name", "table")
#define FORMAT_REPORT_OPTION(offset) FORMAT_OPTION_OF(offset, "table, json or yaml", "table")
#define FORMAT_TEXT_OPTION(offset) FORMAT_OPTION_OF(offset, "yaml or json", "yaml")

/* ERR_USAGE: it is none of the forms in the row of the running verb. */
bool format_parse(const Cli *cli, const char *text, Format *ret, GError **error);

typedef struct {
        const char *head; /* '>' in front: right-aligned; NULL ends the list */
        bool wide;        /* only with -o wide */
        char *(*cell)(const json_t *item, const Terminal *terminal); /* the caller's; NULL shows "-" */
        const char *member;                     /* if there is no cell: this member, formatted by
                                                   value_text */
        TableFit fit;                           /* on a terminal that is too narrow for the whole table */
        const char *(*paint)(const char *cell); /* its colour on a terminal, see table_paint; or NULL */
} Column;

typedef struct Listing Listing;
/* `name` is the member that -o name prints. */
Listing *listing_new(const Cli *cli, Format format, const Column *columns, const char *name);
void listing_free(Listing *listing);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Listing, listing_free)
void listing_add(Listing *listing, const json_t *item);
void listing_page(Listing *listing); /* prints a complete page */
void listing_end(Listing *listing);

typedef struct {
        gint64 items; /* added */
        gint64 more;  /* not added, if the path requests the total number (`count`) */
} ListingCount;

/* Fetches `path` (with or without a query) page by page and adds all items, at most `limit` of them (0: no
 * limit). More items may follow; the output is complete after listing_end. */
bool listing_fetch(Listing *listing, HttpClient *client, const char *path, gint64 limit, ListingCount *ret,
                   GError **error);

/* The same for a complete listing: also prints it. *ret_items is the number of items. */
bool listing_pages(Listing *listing, HttpClient *client, const char *path, gint64 limit, gint64 *ret_items,
                   GError **error);

/* A whole verb that lists, in the form of -o: connects and prints. `none` is said to a person if there is nothing. */
bool listing_show(Cli *cli, const char *form, const Column *columns, const char *name, const char *path,
                  gint64 limit, const char *none, GError **error);

/* All items as one array; the caller's, NULL with *error. */
json_t *listing_items(HttpClient *client, const char *path, GError **error);

/* A value for a person: "yes", "12", "cpu 4, memory 8Gi", "a, b"; NULL for null and empty values. The
 * caller's. */
char *value_text(const json_t *value);

/* The same for a cell: a time of the server is converted to the user's time zone. */
char *cell_text(const json_t *value);

/* The same, short enough for a column of a narrow terminal: "11-27 15:56", or "2025-11-27" of another year. */
char *listing_time(const json_t *object, const char *name, const Terminal *terminal);

/* A time of the server (UTC) in the user's time zone; NULL: none. The caller's. */
char *local_time_text(const json_t *object, const char *name);

/* A time of the server (RFC 3339, UTC) for a line on a terminal, in the user's time zone: "2026-03-01
 * 19:00:00.123 JST"; unchanged if it is not a time. The caller's. */
char *local_stamp(const char *time);

/* A single value, as JSON or YAML (or its member `name`). */
void format_print(const json_t *value, Format format, const char *name);

/* ---- members of the server's objects, which may be absent ---- */

const char *text_of(const json_t *object, const char *name); /* "" when absent */
gint64 int_of(const json_t *object, const char *name);       /* 0 when absent */
bool is_set(const json_t *object, const char *name);         /* present and not null */
gint64 time_of(const json_t *object,
               const char *name); /* ms since 1970 of an RFC 3339 member; 0 when absent */
