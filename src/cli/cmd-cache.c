/* paddle cache list, show, delete; paddle run explain-cache: results of steps that later runs may take. */
#include "base/err.h"
#include "cli/listing.h"
#include "cli/run-words.h"
#include "cli/verbs.h"
#include "net/url.h"

#include <string.h>

typedef struct {
        Common common;
        char *run, *fs, *user, *format;
        bool all;
        gint64 limit;
} CacheCommand;

/* ---- list ---- */

static const Option list_options[] = {
        { "run", 'r', OPTION_STRING, offsetof(CacheCommand, run), "RUN",
          "only entries of steps of this run" },
        { "fs", 0, OPTION_STRING, offsetof(CacheCommand, fs), "NAME", "only with this main file system" },
        { "user", 'u', OPTION_STRING, offsetof(CacheCommand, user), "NAME",
          "entries of this user (administrators)" },
        { "all", 'a', OPTION_BOOL, offsetof(CacheCommand, all), NULL, "everyone's entries (administrators)" },
        { "limit", 'l', OPTION_INT, offsetof(CacheCommand, limit), "N", "at most N", .fallback = "100",
          .min = 1, .max = 1000000 },
        FORMAT_OPTION(offsetof(CacheCommand, format)),
        COMMON_OPTIONS,
        { 0 },
};

static char *cell_created(const json_t *item, const Terminal *terminal)
{
        return listing_time(item, "created_at", terminal);
}

static char *cell_expires(const json_t *item, const Terminal *terminal)
{
        return listing_time(item, "expires_at", terminal);
}

static const Column columns[] = {
        { "ID", .member = "id", .fit = { 0, TABLE_WHOLE } },
        { "RUN", .member = "run", .fit = { 1, TABLE_WHOLE } },
        { "STEP", .member = "step", .fit = { 0, 8 } },
        { "STATE", .member = "state", .fit = { 2, TABLE_WHOLE } },
        { "FS", .member = "filesystem", .fit = { 4 } },
        { "CREATED", .cell = cell_created, .fit = { 3, TABLE_WHOLE } },
        { "EXPIRES", .cell = cell_expires, .fit = { 3, TABLE_WHOLE } },
        { "USER", true, .member = "user" },
        { "FINGERPRINT", true, .member = "fingerprint" },
        { 0 },
};

static bool cache_list(Cli *cli, const void *target, char *const *words, GError **error)
{
        const CacheCommand *options = target;
        g_autoptr(GString) path = g_string_new("/v1/cache");

        if (options->run && (options->all || options->user))
                return err_set(error, ERR_USAGE, "--run cannot be combined with --all or --user");
        url_add_query(path, "run", options->run);
        url_add_query(path, "filesystem", options->fs);
        url_add_query(path, "user", options->user);
        url_add_query(path, "all", options->all ? "true" : NULL);
        return listing_show(cli, options->format, columns, "id", path->str, options->limit,
                            "no entries; a step writes one if its pipeline says `cache: {enable: true}`",
                            error);
}

const Verb verb_cache_list = {
        .name = "cache list",
        .args = "",
        .summary = "List results of steps that later runs may take",
        .about =
                "Each step with the cache has an entry from the time its job was submitted, whatever became of the "
                "job. Entries go when they have expired, and with their run.",
        .examples = "paddle cache list\n"
                    "paddle cache list --run RUN -o json",
        .options = list_options,
        .size = sizeof(CacheCommand),
        .run = cache_list,
};

/* ---- show ---- */

static const Option show_options[] = {
        FORMAT_TEXT_OPTION(offsetof(CacheCommand, format)),
        COMMON_OPTIONS,
        { 0 },
};

static char *entry_path(const char *id)
{
        g_autofree char *escaped = url_escape(id);

        return g_strconcat("/v1/cache/", escaped, NULL);
}

static bool cache_show(Cli *cli, const void *target, char *const *words, GError **error)
{
        const CacheCommand *options = target;
        g_autofree char *path = entry_path(words[0]);
        g_autoptr(json_t) entry = NULL;
        Format format;

        if (!format_parse(cli, options->format, &format, error) || !cli_client(cli, error) ||
            !http_call_json(cli->client, "GET", path, NULL, &entry, error))
                return false;
        format_print(entry, format, NULL);
        return true;
}

const Verb verb_cache_show = {
        .name = "cache show",
        .args = "ENTRY",
        .summary = "Show an entry of the cache, with the parts of its fingerprints",
        .about =
                "`parts` has a digest of each value that counts. `paddle run explain-cache RUN STEP` compares the "
                "parts of a step with those of an earlier entry.",
        .examples = "paddle cache show cch-000012",
        .options = show_options,
        .size = sizeof(CacheCommand),
        .min_words = 1,
        .max_words = 1,
        .run = cache_show,
};

/* ---- delete ---- */

static const Option delete_options[] = { COMMON_OPTIONS, { 0 } };

static bool cache_delete(Cli *cli, const void *target, char *const *words, GError **error)
{
        if (!cli_client(cli, error))
                return false;
        for (; *words; words++) {
                g_autofree char *path = entry_path(*words);
                g_autoptr(json_t) reply = NULL;

                if (!http_call_json(cli->client, "DELETE", path, NULL, &reply, error))
                        return false;
                cli_print("cache entry %s is deleted", *words);
        }
        return true;
}

const Verb verb_cache_delete = {
        .name = "cache delete",
        .args = "ENTRY...",
        .summary = "Delete entries of the cache, so that their steps run again",
        .about = "Nothing else is deleted: steps that were reused from the entry keep their results.",
        .examples = "paddle cache delete cch-000012",
        .options = delete_options,
        .size = sizeof(CacheCommand),
        .min_words = 1,
        .max_words = -1,
        .run = cache_delete,
};

/* ---- why ---- */

static const Option explain_options[] = {
        FORMAT_REPORT_OPTION(offsetof(CacheCommand, format)),
        COMMON_OPTIONS,
        { 0 },
};

static const Column part_columns[] = {
        { "PART", .member = "name", .fit = { 0, 12 } },
        { "CHANGE", .member = "change", .fit = { 0, TABLE_WHOLE } },
        { 0 },
};

static void print_parts(const Cli *cli, const json_t *why)
{
        const json_t *parts = json_object_get(why, "parts"), *compared = json_object_get(why, "compared");
        g_autoptr(Listing) listing = NULL;
        size_t i;
        json_t *part;

        if (json_array_size(parts) == 0)
                return;
        printf("\n");
        cli_print("compared with entry %s: run %s, step %s", text_of(compared, "id"),
                  text_of(compared, "run"), text_of(compared, "step"));
        printf("\n");
        listing = listing_new(cli, FORMAT_TABLE, part_columns, "name");
        json_array_foreach(parts, i, part)
                listing_add(listing, part);
        listing_end(listing);
}

static bool explain_cache(Cli *cli, const void *target, char *const *words, GError **error)
{
        const CacheCommand *options = target;
        g_autofree char *base = run_path(words[0], "/cache");
        g_autoptr(GString) path = g_string_new(base);
        g_autoptr(json_t) why = NULL;
        Format format;

        url_add_query(path, "step", words[1]);
        if (!format_parse(cli, options->format, &format, error) || !cli_client(cli, error) ||
            !http_call_json(cli->client, "GET", path->str, NULL, &why, error))
                return false;
        if (format != FORMAT_TABLE) {
                format_print(why, format, NULL);
                return true;
        }
        cli_print("%s: %s", text_of(why, "step"), text_of(why, "message"));
        print_parts(cli, why);
        return true;
}

const Verb verb_run_explain_cache = {
        .name = "run explain-cache",
        .args = "RUN STEP",
        .summary = "Say why a step was reused from the cache, or why it ran",
        .about =
                "A step is reused if all parts of an earlier one are the same: its image, command, parameters, "
                "variables, artifacts, mounts and files. The table names each part, and whether it is the same, "
                "differs, is new or gone. Values are not kept, only digests of them.\n\nRUN is an id, or the name of a "
                "pipeline: your newest run of it. STEP is as in `paddle run show`: train, dag.train, or train-3 for an "
                "item of a loop.",
        .examples = "paddle run explain-cache train fit\n"
                    "paddle run explain-cache 6rpyr77cvstaad5v prepare.split-3 -o json",
        .options = explain_options,
        .size = sizeof(CacheCommand),
        .min_words = 2,
        .max_words = 2,
        .words = WORDS_OBJECTS,
        .run = explain_cache,
};
