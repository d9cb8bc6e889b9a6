#include "store/test/help.h"

#include "base/err.h"
#include "base/file.h"

Scratch *scratch_new(void)
{
        g_autoptr(GError) error = NULL;
        char *dir = g_dir_make_tmp("store-XXXXXX", &error);

        g_assert_no_error(error);
        return dir;
}

void scratch_free(Scratch *dir)
{
        g_autoptr(GError) error = NULL;

        (void)file_remove_tree(dir, &error);
        g_assert_no_error(error);
        g_free(dir);
}

Store *open_store(const char *dir)
{
        g_autoptr(GError) error = NULL;
        Store *store = store_open(dir, &error);

        g_assert_no_error(error);
        g_assert_nonnull(store);
        return store;
}

Job *make_job(gint64 seq, const char *user, const char *name, JobState state)
{
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) object =
                json_pack("{s:s, s:[s, s]}", "name", name, "command", "echo", "h\u00e9llo 'x'");
        g_autoptr(Spec) spec = spec_parse(object, &error);
        Job *job;

        g_assert_no_error(error);
        job = job_new(user, name, spec, 1000 + seq);
        job->seq = seq;
        job->revision = seq;
        job->spec_seq = seq;
        job->queue = g_intern_string("default");
        job->updated = 1000 + seq;
        job->state = state;
        job->reason = g_strdup("waits for 'cpu'");
        return job;
}

Event *make_event(gint64 revision, const Job *job, const char *kind)
{
        Event *event = g_new0(Event, 1);

        event->revision = revision;
        event->time = 5000 + revision;
        event->kind = g_strdup(kind);
        event->data = g_strdup("{\"state\":\"queued\"}");
        if (job) {
                event->subject = (Subject){ SUBJECT_JOB, job->seq, .owner = g_strdup(job->user) };
                g_strlcpy(event->subject.id, job->id, sizeof event->subject.id);
        }
        return event;
}

void assert_same_job(const Job *got, const Job *want)
{
        g_autoptr(json_t) got_spec = spec_format(got->spec), want_spec = spec_format(want->spec);

        g_assert_cmpint(got->seq, ==, want->seq);
        g_assert_cmpint(got->revision, ==, want->revision);
        g_assert_cmpint(got->state, ==, want->state);
        g_assert_cmpint(got->attempt, ==, want->attempt);
        g_assert_cmpint(got->submitted, ==, want->submitted);
        g_assert_cmpstr(got->id, ==, want->id);
        g_assert_cmpstr(got->user, ==, want->user);
        g_assert_cmpstr(got->name, ==, want->name);
        g_assert_cmpstr(got->reason, ==, want->reason);
        g_assert_cmpstr(got->queue, ==, want->queue);
        g_assert_cmpint(got->updated, ==, want->updated);
        g_assert_cmpint(got->spec_seq, ==, want->spec_seq);
        g_assert_cmpint(got->array_seq, ==, want->array_seq);
        g_assert_cmpstr(got->idempotency_key, ==, want->idempotency_key);
        g_assert_true(json_equal(got_spec, want_spec));
}

/* What frees the data of a record. */
static const GDestroyNotify frees[RECORD_KINDS][RECORD_OPS] = {
        [RECORD_OBJECT] = { (GDestroyNotify)object_unref, (GDestroyNotify)object_unref },
        [RECORD_USAGE] = { (GDestroyNotify)usage_free },
        [RECORD_JOB] = { (GDestroyNotify)job_unref, g_free },
        [RECORD_NEW_JOB] = { (GDestroyNotify)job_unref },
        [RECORD_EVENT] = { (GDestroyNotify)event_free },
        [RECORD_LOGIN] = { NULL, g_free },
        [RECORD_TOKEN] = { (GDestroyNotify)token_free, g_free },
        [RECORD_HORIZON] = { g_free },
        [RECORD_BOOT] = { g_free },
        [RECORD_NEW_RUN] = { (GDestroyNotify)run_record_free },
        [RECORD_RUN] = { (GDestroyNotify)run_record_free, g_free },
        [RECORD_RUN_NODE] = { (GDestroyNotify)run_node_record_free, (GDestroyNotify)run_node_record_free },
        [RECORD_RUN_CHILD] = { (GDestroyNotify)run_child_record_free, g_free },
        [RECORD_ARTIFACT] = { (GDestroyNotify)artifact_record_free, (GDestroyNotify)artifact_record_free },
        [RECORD_CACHE_ENTRY] = { (GDestroyNotify)cache_entry_free, g_free },
        [RECORD_PIPELINE] = { (GDestroyNotify)pipeline_record_free, g_free },
        [RECORD_SCHEDULE] = { (GDestroyNotify)schedule_record_free, g_free },
        [RECORD_PIPELINE_VERSION] = { (GDestroyNotify)pipeline_version_free,
                                      (GDestroyNotify)pipeline_version_free },
};

struct Batch {
        GArray *records; /* StoreRecord */
};

Batch *batch_new(void)
{
        Batch *batch = g_new0(Batch, 1);

        batch->records = g_array_new(FALSE, FALSE, sizeof(StoreRecord));
        return batch;
}

void batch_free(Batch *batch)
{
        for (guint i = 0; i < batch->records->len; i++) {
                const StoreRecord *record = &g_array_index(batch->records, StoreRecord, i);

                frees[record->kind][record->op]((void *)record->data);
        }
        g_array_unref(batch->records);
        g_free(batch);
}

static void add(Batch *batch, RecordKind kind, RecordOp op, void *data)
{
        const StoreRecord record = { (guint8)kind, (guint8)op, data };

        g_array_append_val(batch->records, record);
}

void batch_put(Batch *batch, RecordKind kind, void *data)
{
        add(batch, kind, RECORD_PUT, data);
}

void batch_drop(Batch *batch, RecordKind kind, void *data)
{
        add(batch, kind, RECORD_DROP, data);
}

void *batch_last(const Batch *batch)
{
        return (void *)g_array_index(batch->records, StoreRecord, batch->records->len - 1).data;
}

gint64 *copy_int(gint64 value)
{
        return g_memdup2(&value, sizeof value);
}

StoreBatch batch_view(const Batch *batch)
{
        return (StoreBatch){ (const StoreRecord *)(void *)batch->records->data, batch->records->len };
}

void commit(Store *store, const Batch *batch)
{
        g_autoptr(GError) error = NULL;
        const StoreBatch view = batch_view(batch);
        StoreFailure failure;

        (void)store_commit(store, &view, &failure, &error);
        g_assert_no_error(error);
}

GError *commit_fails(Store *store, const Batch *batch, StoreFailure failure)
{
        GError *error = NULL;
        const StoreBatch view = batch_view(batch);
        StoreFailure got = STORE_FAILED_CLEAN;

        g_assert_false(store_commit(store, &view, &got, &error));
        g_assert_nonnull(error);
        g_assert_cmpint(got, ==, failure);
        return error;
}

void commit_job(Store *store, gint64 seq)
{
        g_autoptr(Batch) batch = batch_new();
        g_autofree char *name = g_strdup_printf("job-%" G_GINT64_FORMAT, seq);
        Job *job = make_job(seq, "ann", name, JOB_QUEUED);

        batch_put(batch, RECORD_NEW_JOB, job);
        batch_put(batch, RECORD_EVENT, make_event(seq, job, "job.queued"));
        commit(store, batch);
}

gint64 last_seq(Store *store)
{
        g_autoptr(GError) error = NULL;
        g_auto(StoreState) state = { 0 };

        (void)store_load(store, &state, &error);
        g_assert_no_error(error);
        return state.last_seq;
}
