/* A submission reads from the store before it is queued (see reads.h). */
#include "engine/submit.h"

#include <string.h>

#include "base/cancel.h"
#include "base/err.h"
#include "base/keyed-hash.h"

/* Words of `after`. While they are read, the engine remembers all that ends. */
enum { UNKNOWN_MAX = 64, KNOWN_MAX = 10000 };

/* ---- a repeated submission ---- */

/* The number of jobs that a specification makes. */
static gint64 spec_jobs(const Spec *spec)
{
        g_autoptr(GArray) indices = NULL;
        int max;

        return spec->array && spec_array(spec->array, &indices, &max, NULL) ? indices->len : 1;
}

/* True if the job is the user's, and was made from specification `i` of the submission. */
static bool is_made_from(const Submit *submit, const Job *job, guint i)
{
        g_autoptr(json_t) spec = spec_format(submit->specs->pdata[i]);
        g_autoptr(json_t) other = spec_format(job->spec);

        return strcmp(job->user, submit->user) == 0 && json_equal(spec, other);
}

static int add_to_hash(const char *text, size_t len, void *state)
{
        hash_update(state, text, len);
        return 0;
}

/* Equal specifications have equal digests, also if their members are in another order. */
static guint64 digest_of(const GPtrArray *specs)
{
        enum { DIGITS = 2 * sizeof(guint64) };
        char hash[HASH_LEN + 1];
        HashState state;

        hash_init(&state);
        for (guint i = 0; i < specs->len; i++) {
                g_autoptr(json_t) spec = spec_format(specs->pdata[i]);

                (void)json_dump_callback(spec, add_to_hash, &state, JSON_COMPACT | JSON_SORT_KEYS);
        }
        hash_final(&state, hash);
        hash[DIGITS] = '\0';
        return g_ascii_strtoull(hash, NULL, 16);
}

/* Jobs of one submission have consecutive numbers, and their specifications never change. A deleted job cannot be
 * compared. */
static void read_earlier(Engine *engine, Submit *submit)
{
        gint64 seq;

        submit->earlier = store_job_by_key(engine->store, submit->user, submit->key, &submit->error);
        if (!submit->earlier && err_is(submit->error, ERR_NOT_FOUND))
                g_clear_error(&submit->error);
        if (!submit->earlier)
                return;
        seq = submit->earlier->seq;
        for (guint i = 0; i < submit->specs->len && !submit->differs; i++) {
                g_autoptr(Job) job =
                        i == 0 ? job_ref(submit->earlier) : store_job_by_seq(engine->store, seq, NULL);

                submit->differs = job && !is_made_from(submit, job, i);
                seq += spec_jobs(submit->specs->pdata[i]);
        }
}

/* ---- jobs that it waits for ---- */

static void awaited_free(gpointer data)
{
        Awaited *awaited = data;

        job_unref(awaited->job);
        g_free(awaited->array_id);
        g_free(awaited);
}

static void read_array(Engine *engine, Awaited *awaited)
{
        const JobQuery query = { .array_seq = awaited->array,
                                 .states = 1u << JOB_FAILED | 1u << JOB_CANCELLED | 1u << JOB_PREEMPTED,
                                 .limit = 1 };
        g_autoptr(Job) first = views_job_by_seq(engine->views, awaited->array);
        gint64 next;
        g_autoptr(GPtrArray) failed = store_jobs(engine->store, &query, &next, NULL);
        char id[ARRAY_ID_LEN + 1];

        if (!first)
                first = store_job_by_seq(engine->store, awaited->array, NULL);
        if (first) {
                array_id_make(first->id, id);
                awaited->array_id = g_strdup(id);
        }
        if (failed && failed->len > 0)
                awaited->failed = (JobState)((const Job *)failed->pdata[0])->state;
}

/* False: nothing has this name or id, at least not yet. Each word is looked up once: thousands of jobs may wait for
 * one. */
static bool read_awaited(Engine *engine, Submit *submit, const char *word)
{
        g_autoptr(Job) job = NULL;
        Awaited *awaited;
        gint64 array;

        if (g_hash_table_contains(submit->awaited, word))
                return true;
        job = engine_look_up(engine, submit->user, word, &array, NULL);
        if (!job)
                return false;
        awaited = g_new0(Awaited, 1);
        *awaited = (Awaited){ .job = g_steal_pointer(&job), .array = array, .failed = JOB_SUCCEEDED };
        if (array)
                read_array(engine, awaited);
        g_hash_table_insert(submit->awaited, g_strdup(word), awaited);
        return true;
}

/* A word that is the name of a specification means that one. */
static GHashTable *own_names(const Submit *submit)
{
        GHashTable *names = g_hash_table_new(keyed_hash, g_str_equal);

        for (guint i = 0; i < submit->specs->len; i++) {
                const Spec *spec = submit->specs->pdata[i];

                if (spec->name)
                        g_hash_table_add(names, spec->name);
        }
        return names;
}

static bool check_known(Submit *submit)
{
        if (g_hash_table_size(submit->awaited) <= KNOWN_MAX)
                return true;
        if (!submit->error)
                err_set(&submit->error, ERR_INVALID,
                        "after: one submission waits for %d different jobs at most\nSubmit it in parts, or wait for "
                        "an array.",
                        KNOWN_MAX);
        return false;
}

/* A submission with more than a few unknown words is refused: the rest is not worth a search. */
static void read_all_awaited(Engine *engine, Submit *submit)
{
        g_autoptr(GHashTable) own = own_names(submit);
        int unknown = 0;

        submit->awaited = g_hash_table_new_full(keyed_hash, g_str_equal, g_free, awaited_free);
        for (guint i = 0; i < submit->specs->len; i++) {
                const Spec *spec = submit->specs->pdata[i];

                for (char **at = spec->after; at && *at && unknown < UNKNOWN_MAX; at++) {
                        const char *word;
                        AfterKind kind;

                        if (!cancel_check() || !check_known(submit))
                                return;
                        if (after_parse(*at, &kind, &word, NULL) && !g_hash_table_contains(own, word))
                                unknown += !read_awaited(engine, submit, word);
                }
        }
}

static bool has_after(const Submit *submit)
{
        for (guint i = 0; i < submit->specs->len; i++)
                if (((const Spec *)submit->specs->pdata[i])->after)
                        return true;
        return false;
}

/* ---- all of it ---- */

void submit_read(Engine *engine, Submit *submit)
{
        bool after = has_after(submit);

        if (!submit->key && !submit->id && !after)
                return;
        read_begin(engine, &submit->read);
        if (submit->key) {
                submit->request = digest_of(submit->specs);
                read_earlier(engine, submit);
        }
        if (submit->id)
                submit->same_id = store_job_by_id(engine->store, submit->id, NULL);
        if (after)
                read_all_awaited(engine, submit);
}

void submit_read_clear(Submit *submit)
{
        read_end(&submit->read);
        g_clear_error(&submit->error);
        g_clear_pointer(&submit->earlier, job_unref);
        g_clear_pointer(&submit->same_id, job_unref);
        g_clear_pointer(&submit->awaited, g_hash_table_unref);
}
