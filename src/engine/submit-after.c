/* The jobs that a submission waits for: words of `after` become ids, and no job may wait for itself, through others of the
 * submission (see submit.h). */
#include "engine/submit.h"

#include <string.h>

#include "base/err.h"
#include "base/keyed-hash.h"

static bool may_see(const Submit *submit, const Job *job)
{
        return submit->admin || strcmp(job->user, submit->user) == 0;
}

static Live *live_named(Engine *engine, const char *user, const char *word)
{
        Live *live = live_find(engine, word);

        return live ? live : live_by_name(engine, user, word);
}

/* The job as it is now, or the array as it was read, that the user's word names; false: none. A word for which the read
 * found nothing may name a newer job. Borrowed. */
static bool find_awaited(Engine *engine, const Submit *submit, const char *word, Awaited *ret)
{
        const Awaited *read = submit->awaited ? g_hash_table_lookup(submit->awaited, word) : NULL;
        const Live *live = !read          ? live_named(engine, submit->user, word)
                           : !read->array ? live_by_seq(engine, read->job->seq)
                                          : NULL;

        *ret = read ? *read : (Awaited){ .failed = JOB_SUCCEEDED };
        if (live)
                ret->job = live->job;
        else if (!read)
                ret->job = (Job *)read_ended(&submit->read, word);
        else if (!read->array) /* NULL: it was deleted since the read */
                ret->job = (Job *)read_update(&submit->read, read->job);
        return ret->job && may_see(submit, ret->job);
}

static const char *const after_words[] = { [AFTER_OK] = "ok", [AFTER_ANY] = "any", [AFTER_FAIL] = "fail" };

static bool awaited_open(Engine *engine, const Awaited *awaited)
{
        return awaited->array ? live_array_open(engine, awaited->array) > 0
                              : !job_state_is_final(awaited->job->state);
}

/* Of elements that end in this batch, or have ended since the array was last live, since the read, before it. */
static JobState awaited_state(Engine *engine, const Submit *submit, const Awaited *awaited)
{
        JobState state;

        if (!awaited->array)
                return awaited->job->state;
        state = depend_array_state(engine, awaited->array);
        if (state == JOB_SUCCEEDED)
                state = read_array_state(&submit->read, awaited->array);
        return state == JOB_SUCCEEDED ? awaited->failed : state;
}

/* The job or array that a word of `after` names, while the submission is applied. */
typedef struct {
        bool exists;
        Awaited awaited; /* borrowed */
        const char *id;  /* of the job or array; NULL: unknown, since the array's first job was deleted */
        bool open;
        JobState state; /* of one that is not open */
} Found;

/* Each word is looked up once: a batch may have a million of them, most of them the same. */
static const Found *look_up(Submission *submission, const char *word)
{
        Found *found = submission->found ? g_hash_table_lookup(submission->found, word) : NULL;
        Engine *engine = submission->engine;
        Awaited *awaited;

        if (found)
                return found;
        if (!submission->found)
                submission->found = g_hash_table_new_full(keyed_hash, g_str_equal, NULL, g_free);
        found = g_new0(Found, 1);
        g_hash_table_insert(submission->found, (char *)word, found);
        awaited = &found->awaited;
        found->exists = find_awaited(engine, submission->submit, word, awaited);
        if (!found->exists)
                return found;
        found->id = awaited->array ? awaited->array_id : awaited->job->id;
        found->open = found->id && awaited_open(engine, awaited);
        if (!found->open)
                found->state = awaited_state(engine, submission->submit, awaited);
        return found;
}

/* False with the error when the dependency can never hold. Leaves out a dependency that holds already. */
static bool resolve_job(Submission *submission, AfterKind kind, const char *word, GStrvBuilder *after)
{
        Submit *submit = submission->submit;
        const Found *found = look_up(submission, word);
        const Awaited *awaited = &found->awaited;
        g_autofree char *entry = NULL, *name = NULL;

        if (!found->exists)
                return err_set(&submit->command.error, ERR_NOT_FOUND, "after: there is no job '%s' of '%s'",
                               word, submit->user);
        if (found->open) {
                entry = g_strdup_printf("%s:%s", after_words[kind], found->id);
                g_strv_builder_add(after, entry);
                return true;
        }
        if (kind == AFTER_ANY || (kind == AFTER_OK) == (found->state == JOB_SUCCEEDED))
                return true;
        name = awaited->array ? array_name(awaited->job) : g_strdup(awaited->job->name);
        return err_set(&submit->command.error, ERR_CONFLICT,
                       "after: '%s:%s' can never hold, as %s '%s' (%s) is %s\nLeave it out, or wait for "
                       "another job.",
                       after_words[kind], word, awaited->array ? "array" : "job", name,
                       found->id ? found->id : word, job_state_name(found->state));
}

static bool resolve_entry(Submission *submission, Entry *entry)
{
        g_autoptr(GStrvBuilder) after = g_strv_builder_new();
        g_auto(GStrv) list = NULL;

        for (char **at = entry->spec->after; at && *at; at++) {
                const char *word;
                AfterKind kind;
                Entry *other;
                g_autofree char *text = NULL;

                if (!after_parse(*at, &kind, &word, &submission->submit->command.error))
                        return false;
                other = g_hash_table_lookup(submission->by_name, word);
                if (!other) {
                        if (!resolve_job(submission, kind, word, after))
                                return false;
                        continue;
                }
                text = g_strdup_printf("%s:%s", after_words[kind], other->ref);
                g_strv_builder_add(after, text);
        }
        list = g_strv_builder_end(after);
        entry->after = list[0] ? g_steal_pointer(&list) : NULL;
        return true;
}

/* ---- cycles ---- */

typedef struct {
        GHashTable *by_id;       /* id -> Entry */
        GHashTable *done, *open; /* sets of Entry */
        GPtrArray *path;         /* Entry */
} Walk;

static char *path_format(const GPtrArray *path, const Entry *end)
{
        GString *text = g_string_new(NULL);
        bool inside = false;

        for (guint i = 0; i < path->len; i++) {
                const Entry *entry = g_ptr_array_index(path, i);

                inside |= entry == end;
                if (inside)
                        g_string_append_printf(text, "'%s' after ", entry->name);
        }
        g_string_append_printf(text, "'%s'", end->name);
        return g_string_free(text, FALSE);
}

/* The next entry that `entry` waits for, from the `at`th on; NULL: none. */
static Entry *next_awaited(const Walk *walk, const Entry *entry, guint *at)
{
        for (; entry->after && entry->after[*at];) {
                const char *id = strchr(entry->after[(*at)++], ':') + 1;
                Entry *other = g_hash_table_lookup(walk->by_id, id);

                if (other)
                        return other;
        }
        return NULL;
}

/* Depth first, with a stack of its own: a chain may be ten thousand long. */
static bool walk_from(Walk *walk, Entry *start, GError **error)
{
        g_autoptr(GArray) places = g_array_new(FALSE, TRUE, sizeof(guint));
        const guint zero = 0;

        g_ptr_array_set_size(walk->path, 0);
        g_ptr_array_add(walk->path, start);
        g_array_append_val(places, zero);
        g_hash_table_add(walk->open, start);
        while (walk->path->len > 0) {
                Entry *entry = g_ptr_array_index(walk->path, walk->path->len - 1);
                Entry *next = next_awaited(walk, entry, &g_array_index(places, guint, places->len - 1));

                if (next && g_hash_table_contains(walk->open, next)) {
                        g_autofree char *path = path_format(walk->path, next);

                        return err_set(error, ERR_INVALID, "after: the jobs wait for each other: %s", path);
                }
                if (next && !g_hash_table_contains(walk->done, next)) {
                        g_ptr_array_add(walk->path, next);
                        g_array_append_val(places, zero);
                        g_hash_table_add(walk->open, next);
                } else if (!next) {
                        g_hash_table_remove(walk->open, entry);
                        g_hash_table_add(walk->done, entry);
                        g_ptr_array_set_size(walk->path, (int)walk->path->len - 1);
                        g_array_set_size(places, places->len - 1);
                }
        }
        return true;
}

static bool check_cycles(Submission *submission)
{
        Walk walk = { g_hash_table_new(keyed_hash, g_str_equal), g_hash_table_new(NULL, NULL),
                      g_hash_table_new(NULL, NULL), g_ptr_array_new() };
        bool ok = true;

        for (guint i = 0; i < submission->entries->len; i++) {
                Entry *entry = g_ptr_array_index(submission->entries, i);

                g_hash_table_insert(walk.by_id, entry->ref, entry);
        }
        for (guint i = 0; ok && i < submission->entries->len; i++) {
                Entry *entry = g_ptr_array_index(submission->entries, i);

                ok = !entry->after || g_hash_table_contains(walk.done, entry) ||
                     walk_from(&walk, entry, &submission->submit->command.error);
        }
        g_hash_table_unref(walk.by_id);
        g_hash_table_unref(walk.done);
        g_hash_table_unref(walk.open);
        g_ptr_array_unref(walk.path);
        return ok;
}

bool submit_resolve_after(Submission *submission)
{
        bool waits = false;

        for (guint i = 0; i < submission->entries->len; i++) {
                Entry *entry = g_ptr_array_index(submission->entries, i);

                if (!entry->spec->after)
                        continue;
                if (!resolve_entry(submission, entry)) {
                        submit_name_culprit(submission, i);
                        return false;
                }
                waits |= entry->after != NULL;
        }
        return !waits || check_cycles(submission);
}
