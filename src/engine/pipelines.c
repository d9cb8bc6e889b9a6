/* Stored pipelines: the set of them, and the commands create, update, delete (see pipelines.h). */
#include "engine/pipelines.h"

#include <string.h>

#include "base/err.h"
#include "engine/runs.h"

/* ---- the set ---- */

/* An entry that the open batch replaced. */
typedef struct {
        gint64 seq;
        StoredPipeline *was; /* NULL: there was none */
        GPtrArray *came;     /* packages of versions that the new entry has and `was` lacks: held already */
        GPtrArray *went;     /* of those that it lacks: held until the commit */
} Replaced;

static void stored_free(gpointer data)
{
        StoredPipeline *stored = data;

        if (!stored)
                return;
        pipeline_record_free(stored->record);
        g_array_unref(stored->versions);
        g_free(stored);
}

static void replaced_clear(Replaced *replaced)
{
        g_ptr_array_unref(replaced->came);
        g_ptr_array_unref(replaced->went);
}

static void clear_version(gpointer data)
{
        StoredVersion *version = data;

        g_free(version->files);
        g_clear_pointer(&version->packages, g_ptr_array_unref);
}

/* Takes the record. */
static StoredPipeline *stored_new(PipelineRecord *record)
{
        StoredPipeline *stored = g_new0(StoredPipeline, 1);

        stored->record = record;
        stored->versions = g_array_new(FALSE, FALSE, sizeof(StoredVersion));
        g_array_set_clear_func(stored->versions, clear_version);
        return stored;
}

static StoredPipeline *stored_copy(const StoredPipeline *stored)
{
        StoredPipeline *copy = stored_new(pipeline_record_copy(stored->record));

        for (guint i = 0; i < stored->versions->len; i++) {
                StoredVersion version = g_array_index(stored->versions, StoredVersion, i);

                version.files = g_strdup(version.files);
                version.packages = version.packages ? g_ptr_array_ref(version.packages) : NULL;
                g_array_append_val(copy->versions, version);
        }
        return copy;
}

static GPtrArray *packages_of(const char *hashes)
{
        g_auto(GStrv) words = g_strsplit(hashes, " ", -1);
        GPtrArray *packages = g_ptr_array_new_with_free_func(g_free);

        for (char **word = words; *word; word++)
                g_ptr_array_add(packages, g_strdup(*word));
        return packages;
}

/* Whether there is a version of this number from `*at` on. Versions are in order: `*at` moves up to it. NULL has none. */
static bool advance_to(const StoredPipeline *stored, int version, guint *at)
{
        const GArray *versions = stored ? stored->versions : NULL;

        while (versions && *at < versions->len &&
               g_array_index(versions, StoredVersion, *at).version < version)
                (*at)++;
        return versions && *at < versions->len &&
               g_array_index(versions, StoredVersion, *at).version == version;
}

/* The packages of the versions that `stored` has and `other` lacks, a list for each. NULL has no versions. */
static GPtrArray *packages_beyond(const StoredPipeline *stored, const StoredPipeline *other)
{
        GPtrArray *ret = g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref);
        guint at = 0;

        for (guint i = 0; stored && i < stored->versions->len; i++) {
                const StoredVersion *version = &g_array_index(stored->versions, StoredVersion, i);

                if (!advance_to(other, version->version, &at) && version->packages)
                        g_ptr_array_add(ret, g_ptr_array_ref(version->packages));
        }
        return ret;
}

/* `lists`: of packages_beyond. */
static void hold_packages(Engine *engine, const GPtrArray *lists, bool holds)
{
        for (guint i = 0; i < lists->len; i++)
                views_hold_packages(engine->views, lists->pdata[i], holds);
}

static void add_version(StoredPipeline *stored, const PipelineVersion *version)
{
        StoredVersion added = { .version = version->version,
                                .size = version->size,
                                .files = g_strdup(version->files),
                                .packages = version->packages ? packages_of(version->packages) : NULL };

        g_strlcpy(added.hash, version->hash, sizeof added.hash);
        g_array_append_val(stored->versions, added);
}

void pipelines_init(Engine *engine)
{
        engine->pipelines = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, stored_free);
}

void pipelines_clear(Engine *engine)
{
        g_hash_table_unref(engine->pipelines);
}

/* Rows of versions are in order of pipeline and version, like those of pipelines. */
void pipelines_load(Engine *engine, const StoreState *state)
{
        const GPtrArray *pipelines = state->loaded[RECORD_PIPELINE];
        const GPtrArray *versions = state->loaded[RECORD_PIPELINE_VERSION];
        GHashTableIter iter;
        gpointer value;

        engine->pipeline_seq = state->last_pipeline_seq;
        for (guint i = 0; pipelines && i < pipelines->len; i++) {
                StoredPipeline *stored = stored_new(pipeline_record_copy(pipelines->pdata[i]));

                g_hash_table_insert(engine->pipelines, &stored->record->seq, stored);
        }
        for (guint i = 0; versions && i < versions->len; i++) {
                const PipelineVersion *version = versions->pdata[i];
                StoredPipeline *stored = g_hash_table_lookup(engine->pipelines, &version->pipeline);

                if (stored)
                        add_version(stored, version);
        }
        g_hash_table_iter_init(&iter, engine->pipelines);
        while (g_hash_table_iter_next(&iter, NULL, &value)) {
                g_autoptr(GPtrArray) packages = packages_beyond(value, NULL);

                hold_packages(engine, packages, true);
        }
}

const StoredPipeline *pipelines_find(Engine *engine, gint64 seq)
{
        return g_hash_table_lookup(engine->pipelines, &seq);
}

const StoredVersion *pipelines_version(const StoredPipeline *stored, int version)
{
        for (guint i = 0; i < stored->versions->len; i++) {
                const StoredVersion *one = &g_array_index(stored->versions, StoredVersion, i);

                if (one->version == version)
                        return one;
        }
        return NULL;
}

/* ---- in a batch ---- */

/* `now` takes the place of the entry with this number; NULL: it is removed. Takes `now`. */
static void replace(Engine *engine, gint64 seq, StoredPipeline *now)
{
        Replaced *replaced = g_new0(Replaced, 1);
        gpointer was = NULL;

        replaced->seq = seq;
        if (g_hash_table_steal_extended(engine->pipelines, &seq, NULL, &was))
                replaced->was = was;
        replaced->came = packages_beyond(now, replaced->was);
        replaced->went = packages_beyond(replaced->was, now);
        g_ptr_array_add(engine->batch.pipelines, replaced);
        hold_packages(engine, replaced->came, true);
        if (now)
                g_hash_table_insert(engine->pipelines, &now->record->seq, now);
}

void pipelines_settle(Engine *engine)
{
        for (guint i = 0; i < engine->batch.pipelines->len; i++) {
                Replaced *replaced = engine->batch.pipelines->pdata[i];

                hold_packages(engine, replaced->went, false);
                stored_free(replaced->was);
                replaced_clear(replaced);
        }
        g_ptr_array_set_size(engine->batch.pipelines, 0);
}

void pipelines_restore(Engine *engine)
{
        for (guint i = engine->batch.pipelines->len; i > 0; i--) {
                Replaced *replaced = engine->batch.pipelines->pdata[i - 1];

                hold_packages(engine, replaced->came, false);
                replaced_clear(replaced);
                g_hash_table_remove(engine->pipelines, &replaced->seq);
                if (replaced->was)
                        g_hash_table_insert(engine->pipelines, &replaced->was->record->seq, replaced->was);
        }
        g_ptr_array_set_size(engine->batch.pipelines, 0);
}

static void note(Engine *engine, PipelineRecord *record, const char *kind, json_t *data)
{
        g_autofree char *id = numbered_id_format("ppl", record->seq);

        json_object_set_new(data, "name", json_string(record->name));
        record->revision = batch_note_subject(engine,
                                              (Subject){ SUBJECT_PIPELINE, record->seq,
                                                         .owner = g_strdup(record->user) },
                                              id, kind, data);
}

static void drop_version(Engine *engine, const StoredPipeline *stored, int number)
{
        PipelineVersion *key = g_new0(PipelineVersion, 1);

        key->pipeline = stored->record->seq;
        key->version = number;
        g_ptr_array_add(engine->batch.dropped_versions, key);
}

/* With all versions. */
static void drop_pipeline(Engine *engine, const StoredPipeline *stored, const char *by)
{
        gint64 seq = stored->record->seq;

        note(engine, stored->record, "pipeline.deleted", json_pack("{s:s}", "by", by));
        for (guint i = 0; i < stored->versions->len; i++)
                drop_version(engine, stored, g_array_index(stored->versions, StoredVersion, i).version);
        g_ptr_array_add(engine->batch.dropped_pipelines, g_memdup2(&seq, sizeof seq));
        replace(engine, seq, NULL);
}

void pipelines_drop_of(Engine *engine, const char *user)
{
        g_autoptr(GPtrArray) gone = g_ptr_array_new();
        GHashTableIter iter;
        gpointer value;

        g_hash_table_iter_init(&iter, engine->pipelines);
        while (g_hash_table_iter_next(&iter, NULL, &value))
                if (strcmp(((StoredPipeline *)value)->record->user, user) == 0)
                        g_ptr_array_add(gone, value);
        for (guint i = 0; i < gone->len; i++) {
                const StoredPipeline *stored = gone->pdata[i];

                schedules_fail_of(engine, stored->record->seq);
                drop_pipeline(engine, stored, "the deletion of its user");
        }
}

/* ---- what the commands share ---- */

typedef struct {
        Command command;
        EnginePipelineDone pipeline_done;
        PipelineRecord *answer;   /* owned */
        PipelineVersion *version; /* what is stored, owned; NULL for a deletion */
} PipelineCommand;

static void answer_pipeline(Engine *engine, Command *command, const GError *error)
{
        PipelineCommand *wanted = (PipelineCommand *)command;

        wanted->pipeline_done(error ? NULL : wanted->answer, error ? NULL : wanted->version, error,
                              command->arg);
}

static void free_command(PipelineCommand *wanted)
{
        pipeline_record_free(wanted->answer);
        pipeline_version_free(wanted->version);
}

/* The answer is the record as this batch has it so far. */
static void set_answer(PipelineCommand *wanted, const PipelineRecord *record)
{
        pipeline_record_free(wanted->answer);
        wanted->answer = pipeline_record_copy(record);
}

static bool no_pipeline(gint64 seq, GError **error)
{
        g_autofree char *id = numbered_id_format("ppl", seq);

        return err_set(
                error, ERR_NOT_FOUND,
                "there is no stored pipeline '%s' any more\n`paddle pipeline list` shows the stored pipelines.",
                id);
}

/* ---- create, update ---- */

typedef struct {
        PipelineCommand pipeline;
        PipelineRecord *record; /* of a new one: owner, name, note. Of a change: its number and name */
        char *note;             /* what replaces the note; NULL: it stays */
        bool admin;
} PutPipeline;

typedef struct {
        gint64 pipelines, bytes;
} Stock;

static Stock stock_of(Engine *engine, const char *user)
{
        GHashTableIter iter;
        gpointer value;
        Stock ret = { 0 };

        g_hash_table_iter_init(&iter, engine->pipelines);
        while (g_hash_table_iter_next(&iter, NULL, &value)) {
                const StoredPipeline *stored = value;

                if (strcmp(stored->record->user, user) != 0)
                        continue;
                ret.pipelines++;
                for (guint i = 0; i < stored->versions->len; i++)
                        ret.bytes += g_array_index(stored->versions, StoredVersion, i).size;
        }
        return ret;
}

static const StoredPipeline *find_name(Engine *engine, const char *user, const char *name)
{
        GHashTableIter iter;
        gpointer value;

        g_hash_table_iter_init(&iter, engine->pipelines);
        while (g_hash_table_iter_next(&iter, NULL, &value)) {
                const StoredPipeline *stored = value;

                if (strcmp(stored->record->name, name) == 0 && strcmp(stored->record->user, user) == 0)
                        return stored;
        }
        return NULL;
}

static bool check_bytes(const Stock *stock, const char *user, gint64 size, GError **error)
{
        return stock->bytes + size <= PIPELINE_TEXTS_OF_USER ||
               err_set(error, ERR_QUOTA,
                       "the versions of the stored pipelines of '%s' would be longer than %d MiB together\n"
                       "Delete versions that are not needed: `paddle pipeline delete NAME@VERSION`.",
                       user, PIPELINE_TEXTS_OF_USER >> 20);
}

static bool check_new(Engine *engine, const PutPipeline *put, GError **error)
{
        const PipelineRecord *record = put->record;
        Stock stock = stock_of(engine, record->user);

        if (find_name(engine, record->user, record->name))
                return err_set(error, ERR_EXISTS,
                               "'%s' has a stored pipeline '%s' already\n"
                               "`paddle pipeline update %s FILE` stores a new version of it.",
                               record->user, record->name, record->name);
        if (g_hash_table_size(engine->pipelines) >= PIPELINES_MAX)
                return err_set(error, ERR_QUOTA,
                               "the server has %d stored pipelines, and takes no more\n"
                               "Pipelines that are not needed can be deleted.",
                               PIPELINES_MAX);
        if (!put->admin && stock.pipelines >= PIPELINES_OF_USER_MAX)
                return err_set(error, ERR_QUOTA,
                               "'%s' has %d stored pipelines, and may not have more\n"
                               "Delete one that is not needed: `paddle pipeline delete NAME`.",
                               record->user, PIPELINES_OF_USER_MAX);
        return check_bytes(&stock, record->user, put->pipeline.version->size, error);
}

static bool check_change(Engine *engine, const PutPipeline *put, const StoredPipeline *stored, GError **error)
{
        const PipelineRecord *record = stored->record;
        Stock stock = stock_of(engine, record->user);

        if (strcmp(record->name, put->record->name) != 0)
                return err_set(
                        error, ERR_CONFLICT,
                        "the definition is of pipeline '%s', and not of '%s'\n"
                        "Set its name to '%s', or store it as a new pipeline: `paddle pipeline create FILE`.",
                        put->record->name, record->name, record->name);
        if (stored->versions->len >= PIPELINE_VERSIONS_MAX)
                return err_set(error, ERR_QUOTA,
                               "pipeline '%s' has %d versions, and may not have more\n"
                               "Delete one that is not needed: `paddle pipeline delete %s@VERSION`.",
                               record->name, PIPELINE_VERSIONS_MAX, record->name);
        return check_bytes(&stock, record->user, put->pipeline.version->size, error);
}

/* The entry with one version more. */
static void store_version(Engine *engine, PutPipeline *put, StoredPipeline *now, const char *event)
{
        PipelineVersion *version = put->pipeline.version;
        PipelineRecord *record = now->record;

        version->pipeline = record->seq;
        version->version = ++record->made;
        version->created = record->updated = engine->batch.now;
        if (put->note) {
                g_free(record->note);
                record->note = g_strdup(put->note);
        }
        add_version(now, version);
        note(engine, record, event, json_pack("{s:i}", "version", version->version));
        g_ptr_array_add(engine->batch.pipeline_puts, pipeline_record_copy(record));
        g_ptr_array_add(engine->batch.new_versions, version);
        set_answer(&put->pipeline, record);
        replace(engine, record->seq, now);
}

static bool apply_create(Engine *engine, Command *command)
{
        PutPipeline *put = (PutPipeline *)command;
        StoredPipeline *now;

        if (!engine_may_write(engine, put->record->user, &command->error) ||
            !check_new(engine, put, &command->error))
                return true;
        now = stored_new(pipeline_record_copy(put->record));
        now->record->seq = ++engine->pipeline_seq;
        now->record->created = engine->batch.now;
        store_version(engine, put, now, "pipeline.created");
        return true;
}

static bool apply_update(Engine *engine, Command *command)
{
        PutPipeline *put = (PutPipeline *)command;
        const StoredPipeline *stored = pipelines_find(engine, put->record->seq);

        if (!stored)
                (void)no_pipeline(put->record->seq, &command->error);
        else if (engine_may_write(engine, stored->record->user, &command->error) &&
                 check_change(engine, put, stored, &command->error))
                store_version(engine, put, stored_copy(stored), "pipeline.updated");
        return true;
}

static void free_put(Command *command)
{
        PutPipeline *put = (PutPipeline *)command;

        free_command(&put->pipeline);
        pipeline_record_free(put->record);
        g_free(put->note);
}

static const CommandOps create_ops = { .name = "create pipeline",
                                       .size = sizeof(PutPipeline),
                                       .apply = apply_create,
                                       .answer = answer_pipeline,
                                       .free = free_put };
static const CommandOps update_ops = { .name = "update pipeline",
                                       .size = sizeof(PutPipeline),
                                       .apply = apply_update,
                                       .answer = answer_pipeline,
                                       .free = free_put };

/* The caller's; NULL: none. */
static char *hashes_of(const RunPlan *plan)
{
        GString *hashes = plan->packages->len > 0 ? g_string_new(NULL) : NULL;

        for (guint i = 0; i < plan->packages->len; i++)
                g_string_append_printf(hashes, "%s%s", i > 0 ? " " : "",
                                       (const char *)plan->packages->pdata[i]);
        return hashes ? g_string_free(hashes, FALSE) : NULL;
}

static PipelineVersion *new_version(const EnginePipeline *pipeline, const RunPlan *plan)
{
        PipelineVersion *version = g_new0(PipelineVersion, 1);

        version->user = g_strdup(pipeline->by);
        version->fs = g_strdup(pipeline->fs);
        version->path = g_strdup(pipeline->path);
        version->text = g_strdup(pipeline->text);
        version->files = g_strdup(pipeline->files);
        version->packages = hashes_of(plan);
        version->size = (gint64)strlen(pipeline->text);
        pipeline_hash(pipeline->text, version->hash);
        return version;
}

static bool check_note(const char *note, GError **error)
{
        return !note || strlen(note) <= PIPELINE_NOTE_MAX ||
               err_set(error, ERR_INVALID, "the description has %zu bytes, and may have at most %d",
                       strlen(note), PIPELINE_NOTE_MAX);
}

/* The definition is compiled as that of a run: what is stored can run. */
static RunPlan *plan_of(Engine *engine, const EnginePipeline *pipeline, GError **error)
{
        g_autoptr(json_t) request =
                json_pack("{s:s*, s:s*}", "fs_name", pipeline->fs, "fs_default", pipeline->fs_default);
        g_autoptr(RunPlan) plan = NULL;

        pipeline_add_files(request, pipeline->files);
        plan = run_plan_new(engine, pipeline->text, request, error);
        return plan && run_plan_use_packages(engine, plan, pipeline->by, error) ? g_steal_pointer(&plan)
                                                                                : NULL;
}

static void put_pipeline(Engine *engine, const CommandOps *ops, gint64 seq, const EnginePipeline *pipeline,
                         EnginePipelineDone done, void *arg)
{
        g_autoptr(GError) error = NULL;
        g_autoptr(RunPlan) plan =
                check_note(pipeline->note, &error) ? plan_of(engine, pipeline, &error) : NULL;
        PutPipeline *put;

        if (!plan) {
                done(NULL, NULL, error, arg);
                return;
        }
        put = command_new(ops, NULL, arg);
        put->pipeline.pipeline_done = done;
        put->pipeline.version = new_version(pipeline, plan);
        put->record = g_new0(PipelineRecord, 1);
        put->record->seq = seq;
        put->record->user = g_strdup(pipeline->user);
        put->record->name = g_strdup(definition_text(plan->definition, plan->definition->name));
        put->note = g_strdup(pipeline->note);
        put->admin = pipeline->admin;
        inbox_put(&engine->inbox, &put->pipeline.command);
}

void engine_create_pipeline(Engine *engine, const EnginePipeline *pipeline, EnginePipelineDone done,
                            void *arg)
{
        put_pipeline(engine, &create_ops, 0, pipeline, done, arg);
}

void engine_update_pipeline(Engine *engine, gint64 seq, const EnginePipeline *pipeline,
                            EnginePipelineDone done, void *arg)
{
        put_pipeline(engine, &update_ops, seq, pipeline, done, arg);
}

/* ---- delete ---- */

typedef struct {
        PipelineCommand pipeline;
        gint64 seq;
        int version; /* 0: the pipeline with all of them */
        char *by;
} DropPipeline;

static int newest_of(const StoredPipeline *stored)
{
        return g_array_index(stored->versions, StoredVersion, stored->versions->len - 1).version;
}

static bool drop_one(Engine *engine, DropPipeline *drop, const StoredPipeline *stored, GError **error)
{
        StoredPipeline *now;

        if (!pipelines_version(stored, drop->version))
                return pipeline_no_version(stored->record->name, drop->version, newest_of(stored), error);
        if (stored->versions->len == 1)
                return err_set(error, ERR_CONFLICT,
                               "version %d is the only one of pipeline '%s', so it cannot be deleted alone\n"
                               "Delete the pipeline: `paddle pipeline delete %s`.",
                               drop->version, stored->record->name, stored->record->name);
        now = stored_copy(stored);
        for (guint i = now->versions->len; i > 0; i--)
                if (g_array_index(now->versions, StoredVersion, i - 1).version == drop->version)
                        g_array_remove_index(now->versions, i - 1);
        now->record->updated = engine->batch.now;
        note(engine, now->record, "pipeline.version_deleted",
             json_pack("{s:i, s:s}", "version", drop->version, "by", drop->by));
        drop_version(engine, now, drop->version);
        g_ptr_array_add(engine->batch.pipeline_puts, pipeline_record_copy(now->record));
        set_answer(&drop->pipeline, now->record);
        replace(engine, drop->seq, now);
        return true;
}

static bool check_schedules(Engine *engine, const DropPipeline *drop, const StoredPipeline *stored,
                            GError **error)
{
        const char *schedule = schedules_use(engine, drop->seq, drop->version);

        return !schedule || err_set(error, ERR_CONFLICT,
                                    "schedule '%s' runs pipeline '%s', so it cannot be deleted\n"
                                    "Stop the schedule first: `paddle schedule stop %s`.",
                                    schedule, stored->record->name, schedule);
}

static bool apply_drop(Engine *engine, Command *command)
{
        DropPipeline *drop = (DropPipeline *)command;
        const StoredPipeline *stored = pipelines_find(engine, drop->seq);

        if (!stored) {
                (void)no_pipeline(drop->seq, &command->error);
        } else if (!check_schedules(engine, drop, stored, &command->error)) {
                return true;
        } else if (drop->version) {
                (void)drop_one(engine, drop, stored, &command->error);
        } else {
                set_answer(&drop->pipeline, stored->record);
                drop_pipeline(engine, stored, drop->by);
        }
        return true;
}

static void free_drop(Command *command)
{
        DropPipeline *drop = (DropPipeline *)command;

        free_command(&drop->pipeline);
        g_free(drop->by);
}

static const CommandOps drop_ops = { .name = "delete pipeline",
                                     .size = sizeof(DropPipeline),
                                     .apply = apply_drop,
                                     .answer = answer_pipeline,
                                     .free = free_drop };

void engine_delete_pipeline(Engine *engine, gint64 seq, int version, const char *by, EnginePipelineDone done,
                            void *arg)
{
        DropPipeline *drop = command_new(&drop_ops, NULL, arg);

        drop->pipeline.pipeline_done = done;
        drop->seq = seq;
        drop->version = version;
        drop->by = g_strdup(by);
        inbox_put(&engine->inbox, &drop->pipeline.command);
}
