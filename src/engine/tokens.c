/* The commands that put and drop tokens. A log-in is a token, too. */
#include "engine/state.h"

#include <string.h>

#include "base/err.h"
#include "model/catalog.h"

/* ---- put ---- */

typedef struct {
        Command command;
        Read read;
        Token *token;
        Token *parent;        /* as it was read; NULL: the token has none, or it does not exist */
        GPtrArray *ancestors; /* char: ids of the parent, of the token with which it was created, and so on */
} PutToken;

static bool has_text(const GPtrArray *texts, const char *text)
{
        for (guint i = 0; i < texts->len; i++)
                if (strcmp(g_ptr_array_index(texts, i), text) == 0)
                        return true;
        return false;
}

/* Tokens are deleted together with that with which they were created. */
static bool is_dropped(Engine *engine, const PutToken *put)
{
        for (guint i = 0; i < put->ancestors->len; i++) {
                const char *id = put->ancestors->pdata[i];

                if (has_text(engine->batch.dropped_tokens, id) || read_token_dropped(&put->read, id))
                        return true;
        }
        return false;
}

static bool is_logged_out(Engine *engine, const PutToken *put)
{
        const Token *parent = put->parent;

        return parent->login != TOKEN_OWN && (has_text(engine->batch.logged_out, parent->user) ||
                                              read_logged_out(&put->read, parent->user));
}

/* Both user and parent may have been deleted since the request was authenticated. */
static bool check_token(Engine *engine, const PutToken *put, GError **error)
{
        const Token *token = put->token;

        if (!catalog_user(engine->batch.catalog, token->user))
                return err_set(error, ERR_NOT_FOUND, "user '%s' does not exist", token->user);
        if (!token->parent || (put->parent && !is_logged_out(engine, put) && !is_dropped(engine, put)))
                return true;
        return err_set(error, ERR_UNAUTHENTICATED,
                       "the token or log-in that asks for a token has ended\nLog in again.");
}

static bool apply_put_token(Engine *engine, Command *command)
{
        const PutToken *put = (const PutToken *)command;

        if (check_token(engine, put, &command->error))
                g_ptr_array_add(engine->batch.tokens, put->token);
        return true;
}

static void free_put_token(Command *command)
{
        PutToken *put = (PutToken *)command;

        read_end(&put->read);
        token_free(put->token);
        token_free(put->parent);
        g_clear_pointer(&put->ancestors, g_ptr_array_unref);
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

static const Token *find_token(const GPtrArray *tokens, const char *id)
{
        for (guint i = 0; i < tokens->len; i++)
                if (strcmp(((const Token *)tokens->pdata[i])->id, id) == 0)
                        return tokens->pdata[i];
        return NULL;
}

/* A token and that with which it was created are of one user. */
static void read_ancestors(Engine *engine, PutToken *put)
{
        g_autoptr(GPtrArray) tokens =
                put->parent->maker ? store_tokens(engine->store, put->parent->user, NULL) : NULL;
        const Token *at = put->parent;

        while (at) {
                g_ptr_array_add(put->ancestors, g_strdup(at->id));
                at = tokens && at->maker ? find_token(tokens, at->maker) : NULL;
        }
}

static void read_parent(Engine *engine, PutToken *put)
{
        read_begin(engine, &put->read);
        put->parent = store_token_by_hash(engine->store, put->token->parent, NULL);
        put->ancestors = g_ptr_array_new_with_free_func(g_free);
        if (put->parent)
                read_ancestors(engine, put);
}

void engine_put_token(Engine *engine, const Token *token, EngineDone done, void *arg)
{
        PutToken *put = command_new(&put_token_ops, done, arg);

        put->token = copy_token(token);
        if (token->parent)
                read_parent(engine, put);
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
