/* The catalog's side of the engine: the commands that put and drop objects, what follows from them, and the objects
 * of a new server. The catalog of the batch changes with each command. It becomes the engine's with the commit. */
#include "engine/state.h"

#include <string.h>

#include "base/err.h"
#include "engine/mounts.h"
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

static char *filesystem_use(const Filesystem *filesystem, void *arg)
{
        char *use = mounts_use(arg, filesystem->user, filesystem_name(filesystem));

        if (!use)
                use = runs_use(arg, filesystem->user, filesystem_name(filesystem));
        return use ? use : schedules_use_fs(arg, filesystem->user, filesystem_name(filesystem));
}

static CatalogFacts facts(Engine *engine)
{
        return (CatalogFacts){ .open_jobs = open_jobs,
                               .user_jobs = user_jobs,
                               .used = used,
                               .room = room,
                               .elsewhere = elsewhere,
                               .filesystem_use = filesystem_use,
                               .arg = engine };
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

        if (object->kind == KIND_USER) {
                runs_stop_of(engine, object->name);
                schedules_drop_of(engine, object->name);
                pipelines_drop_of(engine, object->name);
        }
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

/* True if the change may alter the share of members that declare nothing. A new object has no jobs. */
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

typedef struct {
        Command command;
        char *by; /* the caller */
        Object *object;
} Put;

static bool apply_put(Engine *engine, Command *command)
{
        const Put *put = (const Put *)command;
        const Object *was = catalog_find(engine->batch.catalog, put->object->kind, put->object->name);
        const CatalogFacts known = facts(engine);
        g_autoptr(Object) object = NULL;
        bool shares;

        if (!check_version(was, put->object, &command->error) ||
            !catalog_check_put(engine->batch.catalog, was, put->object, &known, &command->error))
                return true;
        object = object_copy(put->object);
        if (!was)
                object->seq = ++engine->object_seq;
        if (!object->created)
                object->created = engine->batch.now;
        object->updated = engine->batch.now;
        note_event(engine, "put", object, put->by, &object->version);
        log_out(engine, was, object);
        shares = shares_differ(was, object); /* the catalog gives `was` up */
        change_catalog(engine, catalog_with(engine->batch.catalog, object));
        g_ptr_array_add(engine->batch.objects, object_ref(object));
        tell_put(engine, object);
        if (shares)
                feed_shares(engine);
        return true;
}

static void free_put(Command *command)
{
        Put *put = (Put *)command;

        g_free(put->by);
        object_unref(put->object);
}

static const CommandOps put_ops = {
        .name = "put object", .size = sizeof(Put), .apply = apply_put, .free = free_put
};

void engine_put(Engine *engine, const Object *object, const char *by, EngineDone done, void *arg)
{
        Put *put = command_new(&put_ops, done, arg);

        put->by = g_strdup(by);
        put->object = object_ref(object);
        inbox_put(&engine->inbox, &put->command);
}

/* ---- drops ---- */

typedef struct {
        Command command;
        char *by;
        ObjectKind kind;
        char *name;
        gint64 version; /* the version to delete; 0: any */
        Read read;
        GPtrArray *tokens; /* Token: of a user, as they were read; else NULL */
        GError *error;     /* why they could not be read */
} Drop;

/* All tokens of the user: those that were read, those created since, and those of this batch. */
static void drop_tokens(Engine *engine, const Drop *drop)
{
        GPtrArray *fresh = engine->batch.tokens, *ids = engine->batch.dropped_tokens;

        for (guint i = 0; i < drop->tokens->len; i++)
                g_ptr_array_add(ids, g_strdup(((const Token *)drop->tokens->pdata[i])->id));
        read_new_tokens(&drop->read, drop->name, ids);
        for (guint i = 0; i < fresh->len; i++) {
                const Token *token = g_ptr_array_index(fresh, i);

                if (strcmp(token->user, drop->name) == 0)
                        g_ptr_array_add(ids, g_strdup(token->id));
        }
}

static void drop_one(Engine *engine, const Object *object, const char *by)
{
        g_autoptr(Object) kept = object_ref(object); /* the catalog gives it up */

        note_event(engine, "dropped", kept, by, NULL);
        change_catalog(engine, catalog_without(engine->batch.catalog, kept->kind, kept->name));
        g_ptr_array_add(engine->batch.dropped_objects, object_ref(kept));
        tell_dropped(engine, kept);
}

/* Children before their parents: in one round or several. */
static GPtrArray *references(GPtrArray *borrowed)
{
        GPtrArray *list = g_ptr_array_new_with_free_func((GDestroyNotify)object_unref);

        for (guint i = 0; borrowed && i < borrowed->len; i++)
                g_ptr_array_add(list, object_ref(g_ptr_array_index(borrowed, i)));
        return list;
}

static bool apply_drop(Engine *engine, Command *command)
{
        const Drop *drop = (const Drop *)command;
        const Object *object = catalog_find(engine->batch.catalog, drop->kind, drop->name);
        const CatalogFacts known = facts(engine);
        g_autoptr(GPtrArray) borrowed = NULL, followers = NULL;

        if (!object) {
                err_set(&command->error, ERR_NOT_FOUND, "%s '%s' does not exist", kind_name(drop->kind),
                        drop->name);
                return true;
        }
        if (drop->version && drop->version != object->version) {
                (void)refuse_changed(object, &command->error);
                return true;
        }
        if (!catalog_check_drop(engine->batch.catalog, object, &known, &command->error))
                return true;
        if (drop->error) {
                command->error = g_error_copy(drop->error);
                return true;
        }
        borrowed = catalog_followers(engine->batch.catalog, object);
        followers = references(borrowed);
        for (guint i = followers->len; i > 0; i--)
                drop_one(engine, g_ptr_array_index(followers, i - 1), drop->by);
        drop_one(engine, catalog_find(engine->batch.catalog, drop->kind, drop->name), drop->by);
        if (drop->tokens)
                drop_tokens(engine, drop);
        feed_queues(engine, engine->batch.catalog); /* a queue that could not go before its children */
        return true;
}

static void free_drop(Command *command)
{
        Drop *drop = (Drop *)command;

        read_end(&drop->read);
        g_clear_pointer(&drop->tokens, g_ptr_array_unref);
        g_clear_error(&drop->error);
        g_free(drop->by);
        g_free(drop->name);
}

static const CommandOps drop_ops = {
        .name = "drop object", .size = sizeof(Drop), .apply = apply_drop, .free = free_drop
};

void engine_drop(Engine *engine, ObjectKind kind, const char *name, gint64 version, const char *by,
                 EngineDone done, void *arg)
{
        Drop *drop = command_new(&drop_ops, done, arg);

        drop->by = g_strdup(by);
        drop->kind = kind;
        drop->name = g_strdup(name);
        drop->version = version;
        if (kind == KIND_USER) {
                read_begin(engine, &drop->read);
                drop->tokens = store_tokens(engine->store, name, &drop->error);
        }
        inbox_put(&engine->inbox, &drop->command);
}

/* ---- start ---- */

/* Creates the objects of a new server that do not exist yet. */
static bool seed(Engine *engine, GPtrArray *objects, GError **error)
{
        g_autoptr(GPtrArray) seeds = catalog_seed(CLUSTER_LOCAL, engine_now(engine));
        g_autofree StoreRecord *records = g_new(StoreRecord, seeds->len);
        StoreBatch batch = { records, 0 };
        StoreFailure failure;

        for (guint i = 0; i < seeds->len; i++) {
                Object *object = g_ptr_array_index(seeds, i);

                if (catalog_find(engine->catalog, object->kind, object->name))
                        continue;
                object->seq = ++engine->object_seq;
                object->version = MAX(engine->revision, 1);
                records[batch.n++] = (StoreRecord){ RECORD_OBJECT, RECORD_PUT, object };
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
