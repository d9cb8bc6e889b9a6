/* The catalog's side of the engine: objects that are put and dropped, what goes with them, what a new server
 * begins with. The catalog of the batch changes with each command; it becomes the engine's with the commit.
 */
#include "engine/state.h"

#include <string.h>

#include "base/err.h"
#include "model/catalog.h"

const Catalog *engine_catalog_now(const Engine *engine)
{
        return engine->batch.catalog ? engine->batch.catalog : engine->catalog;
}

/* ---- what the catalog asks ---- */

static gint64 open_jobs(const char *queue, void *arg)
{
        return live_open_in(arg, queue, NULL);
}

static gint64 user_jobs(const char *user, void *arg)
{
        return live_open_of(arg, user);
}

static Resources used(const char *queue, void *arg)
{
        Engine *engine = arg;
        int id = ids_find(engine->queue_ids, queue);
        SchedulerFigures *figures = scheduler_figures(engine->scheduler, engine->pass_time);
        Resources amount = { 0 };

        if (id >= 0 && id < figures->n_queues && figures->queues[id].id == id)
                amount = figures->queues[id].used;
        scheduler_figures_unref(figures);
        return amount;
}

static bool room(const char *name, Resources *ret, void *arg)
{
        Engine *engine = arg;
        const Cluster *cluster = catalog_cluster(engine->batch.catalog, name);

        g_auto(ClusterView) view = { 0 };

        cluster_view(engine, cluster, &view);
        *ret = view.total;
        return cluster && (cluster->type == CLUSTER_LOCAL || view.connected);
}

static bool elsewhere(const Cluster *was, const Cluster *now, char **ret_was, char **ret_now, void *arg)
{
        const EngineConfig *config = &((Engine *)arg)->config;

        return config->elsewhere && config->elsewhere(was, now, ret_was, ret_now);
}

static CatalogFacts facts(Engine *engine)
{
        return (CatalogFacts){ open_jobs, user_jobs, used, room, elsewhere, engine };
}

/* ---- the scheduler's side ---- */

/* A cluster that changes changes its queues. */
static void tell_put(Engine *engine, const Object *object)
{
        const GPtrArray *queues = catalog_list(engine->batch.catalog, KIND_QUEUE);

        if (object->kind == KIND_QUEUE)
                feed_queue(engine, engine->batch.catalog, (const Queue *)object);
        for (guint i = 0; object->kind == KIND_CLUSTER && i < queues->len; i++) {
                const Queue *queue = g_ptr_array_index(queues, i);

                if (g_strcmp0(queue->cluster, object->name) == 0)
                        feed_queue(engine, engine->batch.catalog, queue);
        }
}

static void tell_dropped(Engine *engine, const Object *object)
{
        int id = object->kind == KIND_QUEUE ? ids_find(engine->queue_ids, object->name) : -1;

        if (id < 0)
                return;
        feed_jobs(engine); /* those that ended in this batch */
        if (journal_drop_queue(engine->journal, id))
                ids_give_back(engine->queue_ids, object->name);
        engine->pass_due = engine->figures_due = true;
}

/* ---- changes ---- */

static void note_event(Engine *engine, const char *what, const Object *object, const char *by,
                       gint64 *ret_version)
{
        g_autofree char *word = g_strdelimit(g_strdup(kind_name(object->kind)), " ", '_');
        g_autofree char *kind = g_strdup_printf("%s.%s", word, what);
        gint64 revision =
                batch_note(engine, kind, NULL, json_pack("{s:s, s:s?}", "name", object->name, "by", by));

        if (ret_version)
                *ret_version = revision;
}

/* What members get that declare nothing may be another amount. A new object has no jobs. */
static bool shares_differ(const Object *was, const Object *now)
{
        const Queue *a = (const Queue *)was, *b = (const Queue *)now;

        if (was && now->kind == KIND_CLUSTER)
                return !limits_equal(&((const Cluster *)was)->defaults, &((const Cluster *)now)->defaults);
        return was && now->kind == KIND_QUEUE &&
               (!limits_equal(&a->defaults, &b->defaults) || !limits_equal(&a->max, &b->max) ||
                a->only_listed != b->only_listed || g_strcmp0(a->parent, b->parent) != 0);
}

static void change_catalog(Engine *engine, Catalog *next)
{
        catalog_unref(engine->batch.catalog);
        engine->batch.catalog = next;
}

/* A user's subject of single sign-on was changed. */
static bool is_bound_anew(const User *was, const User *user)
{
        return was->oidc_subject && (g_strcmp0(was->oidc_subject, user->oidc_subject) != 0 ||
                                     g_strcmp0(was->oidc_issuer, user->oidc_issuer) != 0);
}

/* A new password, another who knows it, another subject of single sign-on, or a first second factor: log-ins
 * were given for something else. */
static bool asks_otherwise(const User *was, const User *now)
{
        return g_strcmp0(was->password, now->password) != 0 || was->ldap != now->ldap ||
               is_bound_anew(was, now) || (!was->second_factor && now->second_factor);
}

static void log_out(Engine *engine, const Object *was, const Object *object)
{
        if (was && object->kind == KIND_USER && asks_otherwise((const User *)was, (const User *)object))
                g_ptr_array_add(engine->batch.logged_out, g_strdup(object->name));
}

static bool refuse_changed(const Object *was, GError **error)
{
        return err_set(error, ERR_CONFLICT,
                       "%s '%s' was changed meanwhile\nLook at it again, then repeat the change.",
                       kind_name(was->kind), was->name);
}

static bool check_version(const Object *was, const Object *object, GError **error)
{
        if (object->seq == 0 && was)
                return err_set(error, ERR_EXISTS, "%s '%s' exists already", kind_name(object->kind),
                               object->name);
        if (object->seq == 0)
                return true;
        if (!was)
                return err_set(error, ERR_NOT_FOUND, "%s '%s' does not exist any more",
                               kind_name(object->kind), object->name);
        if (was->seq != object->seq || was->version != object->version)
                return refuse_changed(was, error);
        return true;
}

bool apply_put(Engine *engine, Input *input)
{
        const Object *was = catalog_find(engine->batch.catalog, input->object->kind, input->object->name);
        const CatalogFacts known = facts(engine);
        g_autoptr(Object) object = NULL;
        bool shares;

        if (!check_version(was, input->object, &input->error) ||
            !catalog_check_put(engine->batch.catalog, was, input->object, &known, &input->error))
                return true;
        object = object_copy(input->object);
        if (!was)
                object->seq = ++engine->object_seq;
        if (!object->created)
                object->created = engine->batch.now;
        object->updated = engine->batch.now;
        note_event(engine, "put", object, input->user, &object->version);
        log_out(engine, was, object);
        shares = shares_differ(was, object); /* the catalog gives `was` up */
        change_catalog(engine, catalog_with(engine->batch.catalog, object));
        g_ptr_array_add(engine->batch.objects, object_ref(object));
        tell_put(engine, object);
        if (shares)
                feed_shares(engine);
        return true;
}

/* All tokens of a user that goes, those of this batch included. */
static void drop_tokens(Engine *engine, const char *user)
{
        GPtrArray *fresh = engine->batch.tokens;
        g_autoptr(GPtrArray) tokens = store_tokens(engine->store, user, NULL);

        for (guint i = 0; tokens && i < tokens->len; i++)
                g_ptr_array_add(engine->batch.dropped_tokens,
                                g_strdup(((const Token *)g_ptr_array_index(tokens, i))->id));
        for (guint i = 0; i < fresh->len; i++) {
                const Token *token = g_ptr_array_index(fresh, i);

                if (strcmp(token->user, user) == 0)
                        g_ptr_array_add(engine->batch.dropped_tokens, g_strdup(token->id));
        }
}

static void drop_one(Engine *engine, const Object *object, const char *by)
{
        g_autoptr(Object) kept = object_ref(object); /* the catalog gives it up */

        note_event(engine, "dropped", kept, by, NULL);
        change_catalog(engine, catalog_without(engine->batch.catalog, kept->kind, kept->name));
        g_ptr_array_add(engine->batch.dropped_objects, object_ref(kept));
        tell_dropped(engine, kept);
        if (kept->kind == KIND_USER)
                drop_tokens(engine, kept->name);
}

/* Children before their parents: in one round or several. */
static GPtrArray *references(GPtrArray *borrowed)
{
        GPtrArray *list = g_ptr_array_new_with_free_func((GDestroyNotify)object_unref);

        for (guint i = 0; borrowed && i < borrowed->len; i++)
                g_ptr_array_add(list, object_ref(g_ptr_array_index(borrowed, i)));
        return list;
}

bool apply_drop(Engine *engine, Input *input)
{
        const Object *object = catalog_find(engine->batch.catalog, input->object_kind, input->text);
        const CatalogFacts known = facts(engine);
        g_autoptr(GPtrArray) borrowed = NULL, followers = NULL;

        if (!object) {
                err_set(&input->error, ERR_NOT_FOUND, "%s '%s' does not exist", kind_name(input->object_kind),
                        input->text);
                return true;
        }
        if (input->version && input->version != object->version) {
                (void)refuse_changed(object, &input->error);
                return true;
        }
        if (!catalog_check_drop(engine->batch.catalog, object, &known, &input->error))
                return true;
        borrowed = catalog_followers(engine->batch.catalog, object);
        followers = references(borrowed);
        for (guint i = followers->len; i > 0; i--)
                drop_one(engine, g_ptr_array_index(followers, i - 1), input->user);
        drop_one(engine, catalog_find(engine->batch.catalog, input->object_kind, input->text), input->user);
        feed_queues(engine, engine->batch.catalog); /* a queue that could not go before its children */
        return true;
}

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

bool apply_token(Engine *engine, Input *input)
{
        if (input->token && check_token(engine, input->token, &input->error))
                g_ptr_array_add(engine->batch.tokens, input->token);
        if (input->kind == INPUT_DROP_TOKEN)
                g_ptr_array_add(engine->batch.dropped_tokens, g_strdup(input->text));
        return true;
}

/* ---- start ---- */

/* What a new server begins with, as far as it is not there. */
static bool seed(Engine *engine, GPtrArray *objects, GError **error)
{
        g_autoptr(GPtrArray) seeds = catalog_seed(CLUSTER_LOCAL, engine_now(engine));
        g_autoptr(GPtrArray) fresh = g_ptr_array_new();
        const StoreBatch batch = { .objects = fresh };
        StoreFailure failure;

        for (guint i = 0; i < seeds->len; i++) {
                Object *object = g_ptr_array_index(seeds, i);

                if (catalog_find(engine->catalog, object->kind, object->name))
                        continue;
                object->seq = ++engine->object_seq;
                object->version = MAX(engine->revision, 1);
                g_ptr_array_add(fresh, object);
                g_ptr_array_add(objects, object_ref(object));
        }
        return store_commit(engine->store, &batch, &failure, error);
}

bool objects_load(Engine *engine, GPtrArray *objects, GError **error)
{
        engine->catalog = catalog_load(objects);
        if (catalog_count(engine->catalog, KIND_CLUSTER) == 0) {
                if (!seed(engine, objects, error))
                        return err_prefix(error, "the first objects cannot be stored: ");
                catalog_unref(engine->catalog);
                engine->catalog = catalog_load(objects);
        }
        for (guint i = 0; i < objects->len; i++)
                engine->revision =
                        MAX(engine->revision, ((const Object *)g_ptr_array_index(objects, i))->version);
        return true;
}
