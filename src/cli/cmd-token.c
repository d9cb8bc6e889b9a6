/* paddle token create, list, revoke: secrets for servers on TCP. */
#include "base/err.h"
#include "cli/listing.h"
#include "cli/verbs.h"

typedef struct {
        Common common;
        char *user, *note, *scope, *queue, *format;
        gint64 expires_ms;
} Token;

static const Option create_options[] = {
        { "user", 'u', OPTION_STRING, offsetof(Token, user), "NAME",
          "for this user, made if new (administrators)" },
        { "note", 0, OPTION_STRING, offsetof(Token, note), "TEXT", "what it is for" },
        { "expires", 0, OPTION_DURATION, offsetof(Token, expires_ms), "TIME",
          "valid for this time: 12h, 30d; without it, until it is revoked", .min = 1000 },
        { "scope", 0, OPTION_STRING, offsetof(Token, scope), "SCOPE",
          "read: only look; submit: also jobs, packages and files; admin: all rights of the user (default)" },
        { "queue", 'q', OPTION_STRING, offsetof(Token, queue), "QUEUE",
          "submit to this queue and change its jobs only; scope submit" },
        FORMAT_OPTION(offsetof(Token, format)),
        COMMON_OPTIONS,
        { 0 },
};

static const Option list_options[] = {
        { "user", 'u', OPTION_STRING, offsetof(Token, user), "NAME", "those of this user (administrators)" },
        FORMAT_OPTION(offsetof(Token, format)),
        COMMON_OPTIONS,
        { 0 },
};

static const Option revoke_options[] = {
        { "user", 'u', OPTION_STRING, offsetof(Token, user), "NAME",
          "all tokens of this user (administrators, or your own)" },
        COMMON_OPTIONS,
        { 0 },
};

static json_t *create_body(const Token *token)
{
        json_t *body = json_object();

        if (token->user)
                json_object_set_new(body, "user", json_string(token->user));
        if (token->note)
                json_object_set_new(body, "note", json_string(token->note));
        if (token->scope)
                json_object_set_new(body, "scope", json_string(token->scope));
        if (token->queue)
                json_object_set_new(body, "queue", json_string(token->queue));
        if (token->expires_ms)
                json_object_set_new(body, "expires_in", json_integer(MAX(token->expires_ms / 1000, 1)));
        return body;
}

static bool run_create(Cli *cli, const void *target, char *const *words, GError **error)
{
        const Token *token = target;
        g_autoptr(json_t) body = create_body(token);
        g_autoptr(json_t) reply = NULL;
        Format format;

        if (!format_parse(cli, token->format, &format, error) || !cli_client(cli, error) ||
            !http_call_json(cli->client, "POST", "/v1/tokens", body, &reply, error))
                return false;
        if (format != FORMAT_TABLE && format != FORMAT_WIDE) {
                format_print(reply, format, "token");
                return true;
        }
        puts(text_of(reply, "token"));
        cli_say(cli,
                "token %s of '%s'; it is shown this once\nUse it as PADDLE_TOKEN, --token, or 'token:' in "
                "the configuration.",
                text_of(reply, "id"), text_of(reply, "user"));
        return true;
}

static char *cell_id(const json_t *item, const Terminal *terminal)
{
        return g_strdup(text_of(item, "id"));
}

static char *cell_user(const json_t *item, const Terminal *terminal)
{
        return g_strdup(text_of(item, "user"));
}

static char *cell_note(const json_t *item, const Terminal *terminal)
{
        return g_strdup(text_of(item, "note"));
}

static char *cell_scope(const json_t *item, const Terminal *terminal)
{
        return g_strdup(text_of(item, "scope"));
}

static char *cell_queue(const json_t *item, const Terminal *terminal)
{
        return g_strdup(text_of(item, "queue"));
}

/* Shows times of any server as RFC 3339. */
static char *cell_created(const json_t *item, const Terminal *terminal)
{
        return local_time_text(item, is_set(item, "created_at") ? "created_at" : "created");
}

static char *cell_expires(const json_t *item, const Terminal *terminal)
{
        return local_time_text(item, is_set(item, "expires_at") ? "expires_at" : "expires");
}

static const Column columns[] = {
        { "ID", false, cell_id, .fit = { 0, TABLE_WHOLE } },
        { "USER", false, cell_user, .fit = { 1 } },
        { "NOTE", false, cell_note, .fit = { 3 } },
        { "SCOPE", false, cell_scope, .fit = { 0, TABLE_WHOLE } },
        { "QUEUE", false, cell_queue, .fit = { 2 } },
        { "CREATED", false, cell_created, .fit = { 5 } },
        { "EXPIRES", false, cell_expires, .fit = { 4 } },
        { 0 },
};

/* Tokens of `user`; NULL: of the caller. */
static bool get_tokens(Cli *cli, const char *user, json_t **ret, GError **error)
{
        g_autofree char *escaped = user ? url_escape(user) : NULL;
        g_autofree char *path = g_strconcat("/v1/tokens", user ? "?user=" : "", escaped, NULL);

        return cli_client(cli, error) && http_call_json(cli->client, "GET", path, NULL, ret, error);
}

static bool run_list(Cli *cli, const void *target, char *const *words, GError **error)
{
        const Token *token = target;
        g_autoptr(json_t) reply = NULL;
        g_autoptr(Listing) listing = NULL;
        Format format;
        gsize i;
        json_t *item;

        if (!format_parse(cli, token->format, &format, error) || !get_tokens(cli, token->user, &reply, error))
                return false;
        listing = listing_new(cli, format, columns, "id");
        json_array_foreach(json_object_get(reply, "items"), i, item)
                listing_add(listing, item);
        listing_end(listing);
        if (i == 0)
                cli_say(cli, "there are no tokens; `paddle token create` makes one");
        return true;
}

static bool revoke_one(Cli *cli, const char *id, GError **error)
{
        g_autofree char *escaped = url_escape(id);
        g_autofree char *path = g_strconcat("/v1/tokens/", escaped, NULL);

        if (!cli_client(cli, error) || !http_call_json(cli->client, "DELETE", path, NULL, NULL, error))
                return false;
        cli_say(cli, "token %s is revoked", id);
        return true;
}

static bool revoke_all(Cli *cli, const char *user, GError **error)
{
        g_autoptr(json_t) reply = NULL;
        gsize i;
        json_t *item;

        if (!get_tokens(cli, user, &reply, error))
                return false;
        json_array_foreach(json_object_get(reply, "items"), i, item)
                if (!revoke_one(cli, text_of(item, "id"), error))
                        return false;
        if (i == 0)
                cli_say(cli, "user '%s' has no tokens", user);
        return true;
}

static bool run_revoke(Cli *cli, const void *target, char *const *words, GError **error)
{
        const Token *token = target;

        if (token->user && *words)
                return err_set(error, ERR_USAGE, "token revoke takes IDs or --user, not both");
        if (token->user)
                return revoke_all(cli, token->user, error);
        if (!*words)
                return err_set(error, ERR_USAGE,
                               "token revoke needs the IDs of tokens, or --user NAME for all of a "
                               "user's\n`paddle token list` has the IDs.");
        for (; *words; words++)
                if (!revoke_one(cli, *words, error))
                        return false;
        return true;
}

const Verb verb_token_create = {
        .name = "token create",
        .args = "",
        .summary = "Create a token for a server on TCP",
        .about = "The secret goes to standard output and is shown this once; the server keeps only its hash. "
                 "If it was created in a log-in, it ends when the password changes, like the log-in. If it "
                 "was created with another token, it has at most the rights and the lifetime of that one, "
                 "and is revoked with it.",
        .examples = "paddle token create --user ann --note laptop --expires 30d\tan administrator, for "
                    "another user\n"
                    "paddle token create --scope submit --queue vision --expires 30d\tfor a machine that "
                    "submits jobs there\n"
                    "paddle token create --scope read\tfor one that only looks",
        .options = create_options,
        .size = sizeof(Token),
        .run = run_create,
};

const Verb verb_token_list = {
        .name = "token list",
        .args = "",
        .summary = "List your tokens, without their secrets",
        .options = list_options,
        .size = sizeof(Token),
        .run = run_list,
};

const Verb verb_token_revoke = {
        .name = "token revoke",
        .args = "[ID...]",
        .summary = "Revoke tokens; connections that use them end",
        .options = revoke_options,
        .size = sizeof(Token),
        .max_words = -1,
        .run = run_revoke,
};
