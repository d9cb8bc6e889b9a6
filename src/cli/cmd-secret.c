/* paddle secret set, list, delete: values for jobs, which are never shown. */
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/word.h"
#include "cli/listing.h"
#include "cli/password.h"
#include "cli/verbs.h"
#include "model/secret.h"

enum { VALUE_MAX = 64 * 1024 }; /* the server's limit (model/secret.h) */

typedef struct {
        Common common;
        char *file, *user, *format;
} SecretArgs;

static const Option set_options[] = {
        { "from-file", 0, OPTION_STRING, offsetof(SecretArgs, file), "PATH",
          "take the value from this file, byte for byte" },
        COMMON_OPTIONS,
        { 0 },
};

static const Option list_options[] = {
        { "user", 'u', OPTION_STRING, offsetof(SecretArgs, user), "NAME",
          "those of this user (administrators)" },
        FORMAT_OPTION(offsetof(SecretArgs, format)),
        COMMON_OPTIONS,
        { 0 },
};

static const Option delete_options[] = {
        { "user", 'u', OPTION_STRING, offsetof(SecretArgs, user), "NAME",
          "one of this user (administrators)" },
        COMMON_OPTIONS,
        { 0 },
};

static char *path_of(const char *name, const char *user)
{
        g_autofree char *escaped = name ? url_escape(name) : NULL, *whose = user ? url_escape(user) : NULL;

        return g_strconcat("/v1/secrets", name ? "/" : "", name ? escaped : "", user ? "?user=" : "", whose,
                           NULL);
}

/* ---- set ---- */

static void wipe(char *value, gsize len)
{
        if (value)
                explicit_bzero(value, len);
        g_free(value);
}

/* Drops one newline at the end, which `echo` adds. */
static char *read_input(gsize *ret_len, GError **error)
{
        char *value = NULL;

        if (!file_read("/dev/stdin", VALUE_MAX + 1, &value, ret_len, error)) {
                (void)err_prefix(error, "standard input: ");
                return NULL;
        }
        if (*ret_len > 0 && value[*ret_len - 1] == '\n')
                value[--*ret_len] = '\0';
        return value;
}

/* The caller's; free it with wipe(). */
static char *take_value(Cli *cli, const SecretArgs *args, const char *name, gsize *ret_len, GError **error)
{
        char *value = NULL;

        if (!args->file && isatty(STDIN_FILENO)) {
                g_autofree char *what = g_strdup_printf("value of '%s'", name);

                value = password_ask(cli, what, false, true, error);
                *ret_len = value ? strlen(value) : 0;
                return value;
        }
        if (!args->file)
                return read_input(ret_len, error);
        return file_read(args->file, VALUE_MAX, &value, ret_len, error) ? value : NULL;
}

static bool run_set(Cli *cli, const void *target, char *const *words, GError **error)
{
        g_autofree char *size = NULL;
        g_autofree char *path = path_of(words[0], NULL);
        g_autoptr(json_t) body = NULL;
        gsize len = 0;
        char *value = NULL;

        if (!secret_name_check("name", words[0], error))
                return false;
        value = take_value(cli, target, words[0], &len, error);
        if (!value)
                return false;
        if (memchr(value, '\0', len) || !g_utf8_validate(value, (gssize)len, NULL)) {
                g_autofree char *coded = g_base64_encode((const guchar *)value, len);

                body = json_pack("{s:s}", "base64", coded);
                explicit_bzero(coded, strlen(coded));
        } else {
                body = json_pack("{s:s%}", "value", value, len);
        }
        wipe(value, len);
        if (!cli_client(cli, error) || !http_call_json(cli->client, "PUT", path, body, NULL, error))
                return false;
        size = count_format((gint64)len, "byte");
        cli_say(cli,
                "secret '%s' is set (%s)\n"
                "Give it to a job: `paddle submit --secret VARIABLE=%s`, or as a file: `--secret-file %s`.",
                words[0], size, words[0], words[0]);
        return true;
}

/* ---- list, delete ---- */

static char *cell_name(const json_t *item, const Terminal *terminal)
{
        return g_strdup(text_of(item, "name"));
}

static char *cell_bytes(const json_t *item, const Terminal *terminal)
{
        return g_strdup_printf("%" G_GINT64_FORMAT,
                               (gint64)json_integer_value(json_object_get(item, "bytes")));
}

static char *cell_updated(const json_t *item, const Terminal *terminal)
{
        return g_strdup(text_of(item, "updated"));
}

static const Column columns[] = {
        { "NAME", false, cell_name, .fit = { 0, TABLE_WHOLE } },
        { "BYTES", false, cell_bytes, .fit = { 2 } },
        { "SET", false, cell_updated, .fit = { 1 } },
        { 0 },
};

static bool run_list(Cli *cli, const void *target, char *const *words, GError **error)
{
        const SecretArgs *args = target;
        g_autofree char *path = path_of(NULL, args->user);
        g_autoptr(json_t) reply = NULL;
        g_autoptr(Listing) listing = NULL;
        Format format;
        gsize i;
        json_t *item;

        if (!format_parse(cli, args->format, &format, error) || !cli_client(cli, error) ||
            !http_call_json(cli->client, "GET", path, NULL, &reply, error))
                return false;
        listing = listing_new(cli, format, columns, "name");
        json_array_foreach(json_object_get(reply, "items"), i, item)
                listing_add(listing, item);
        listing_end(listing);
        if (i == 0)
                cli_say(cli, "there are no secrets; `paddle secret set NAME` makes one");
        return true;
}

static bool run_delete(Cli *cli, const void *target, char *const *words, GError **error)
{
        const SecretArgs *args = target;

        for (; *words; words++) {
                g_autofree char *path = path_of(*words, args->user);

                if (!cli_client(cli, error) ||
                    !http_call_json(cli->client, "DELETE", path, NULL, NULL, error))
                        return false;
                cli_say(cli, "secret '%s' is deleted; jobs that name it fail at their next start", *words);
        }
        return true;
}

const Verb verb_secret_set = {
        .name = "secret set",
        .args = "NAME",
        .summary = "Set a secret for your jobs: a token, a key",
        .about = "The command asks for the value without showing it, or reads it from a pipe (without the "
                 "newline at its end) or a file. It is never a word of the command line, which other users "
                 "of the machine can read.\n\nThe server stores the value encrypted and never shows it "
                 "again. A job gets it as a variable (`paddle submit --secret`) or as a file "
                 "(`--secret-file`). A new value is used by attempts that start later. Do not print secrets: "
                 "the log of the job would show them.",
        .examples =
                "paddle secret set wandb\tasks for the value\n"
                "echo \"$TOKEN\" | paddle secret set hf\n"
                "paddle secret set gcs --from-file key.json\n"
                "paddle submit --secret WANDB_API_KEY=wandb --secret-file key.json=gcs -- python train.py",
        .options = set_options,
        .size = sizeof(SecretArgs),
        .min_words = 1,
        .max_words = 1,
        .run = run_set,
};

const Verb verb_secret_list = {
        .name = "secret list",
        .args = "",
        .summary = "List your secrets, without their values",
        .options = list_options,
        .size = sizeof(SecretArgs),
        .run = run_list,
};

const Verb verb_secret_delete = {
        .name = "secret delete",
        .args = "NAME...",
        .summary = "Delete secrets",
        .options = delete_options,
        .size = sizeof(SecretArgs),
        .min_words = 1,
        .max_words = -1,
        .run = run_delete,
};
