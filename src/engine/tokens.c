/* The commands that put and drop tokens. A log-in is a token, too. */
#include "engine/state.h"

#include <string.h>

#include "base/err.h"
#include "model/catalog.h"

/* ---- put ---- */

typedef struct {
        Command command;
        Token *token;
} PutToken;

static bool has_text(const GPtrArray *texts, const char *text)
{
        for (guint i = 0; i < texts->len; i++)
                if (strcmp(g_ptr_array_index(texts, i), text) == 0)
                        return true;
        return false;
}

/* Both may have gone since the request was let in. */
static bool check_token(Engine *engine, const Token *token, GError **error)
{
        g_autoptr(Token) parent = NULL;

        if (!catalog_user(engine->batch.catalog, token->user))
                return err_set(error, ERR_NOT_FOUND, "user '%s' does not exist", token->user);
        if (!token->parent)
                return true;
        parent = store_token_by_hash(engine->store, token->parent, NULL);
        if (parent && (parent->login == TOKEN_OWN || !has_text(engine->batch.logged_out, parent->user)) &&
            !has_text(engine->batch.dropped_tokens, parent->id))
                return true;
        return err_set(error, ERR_UNAUTHENTICATED,
                       "the token or log-in that asks for a token has ended\nLog in again.");
}

static bool apply_put_token(Engine *engine, Command *command)
{
        Token *token = ((PutToken *)command)->token;

        if (check_token(engine, token, &command->error))
                g_ptr_array_add(engine->batch.tokens, token);
        return true;
}

static void free_put_token(Command *command)
{
        token_free(((PutToken *)command)->token);
}

static const CommandOps put_token_ops = {
        .name = "put token", .size = sizeof(PutToken), .apply = apply_put_token, .free = free_put_token
};

static Token *copy_token(const Token *token)
{
        Token *copy = g_new(Token, 1);

        *copy = (Token){ .id = g_strdup(token->id),
                         .user = g_strdup(token->user),
                         .hash = g_strdup(token->hash),
                         .note = g_strdup(token->note),
                         .parent = g_strdup(token->parent),
                         .login = token->login,
                         .scope = token->scope,
                         .queue = g_strdup(token->queue),
                         .maker = g_strdup(token->maker),
                         .authority = g_strdup(token->authority),
                         .created = token->created,
                         .expires = token->expires };
        return copy;
}

void engine_put_token(Engine *engine, const Token *token, EngineDone done, void *arg)
{
        PutToken *put = command_new(&put_token_ops, done, arg);

        put->token = copy_token(token);
        inbox_put(&engine->inbox, &put->command);
}

/* ---- drop ---- */

typedef struct {
        Command command;
        char *id;
} DropToken;

static bool apply_drop_token(Engine *engine, Command *command)
{
        g_ptr_array_add(engine->batch.dropped_tokens, g_strdup(((DropToken *)command)->id));
        return true;
}

static void free_drop_token(Command *command)
{
        g_free(((DropToken *)command)->id);
}

static const CommandOps drop_token_ops = {
        .name = "drop token", .size = sizeof(DropToken), .apply = apply_drop_token, .free = free_drop_token
};

void engine_drop_token(Engine *engine, const char *id, EngineDone done, void *arg)
{
        DropToken *drop = command_new(&drop_token_ops, done, arg);

        drop->id = g_strdup(id);
        inbox_put(&engine->inbox, &drop->command);
}
