/* The variable part of a job as one JSON text, in the form that the store keeps. Fields with their initial
 * value are omitted, so that thousands of plain jobs stay small. Tables name the fields, and both directions
 * use them. */
#include <string.h>

#include "base/err.h"
#include "base/json-out.h"
#include "model/job.h"
#include "model/queue.h"

enum { LIST_MAX = 1000 }; /* items of a list: more than labels and dependencies can have */

typedef enum {
        U8,
        BOOL8,
        I16,
        U16,
        I32,
        I64,
        TEXT,
        NAME,
        LIST
} Kind; /* NAME: interned; initially "default" */

typedef struct {
        const char *name, *key; /* NAME and "NAME": */
        Kind kind;
        size_t offset;
        gint64 first; /* the omitted value */
        gint64 min, max;
        bool in_environment; /* of the job's first environment (preparation.h), not of the job; its initial value if the
                                job has none */
} Field;

#define FIELD(type, field, kind, first, min, max)                                                            \
        {                                                                                                    \
#field, JSON_NAME(#field), kind, offsetof(type, field), first, min, max                      \
        }
#define JOB_FIELD(field, kind, min, max) FIELD(Job, field, kind, 0, min, max)
#define MEMBER_FIELD(field, kind, first, min, max) FIELD(Member, field, kind, first, min, max)

#define ENVIRONMENT_FIELD(field, kind, min, max)                                                             \
        {                                                                                                    \
                "env_" #field, JSON_NAME("env_" #field), kind, offsetof(Preparation, field), 0, min, max,    \
                        true                                                                                 \
        }

static const Field job_fields[] = {
        JOB_FIELD(revision, I64, 0, G_MAXINT64),
        ENVIRONMENT_FIELD(state, U8, 0, PREPARATION_STATES - 1),
        JOB_FIELD(stop_to, U8, 0, JOB_STATES - 1),
        JOB_FIELD(attempt, I32, 0, G_MAXINT32),
        JOB_FIELD(failures, I32, 0, G_MAXINT32),
        JOB_FIELD(losses, I32, 0, G_MAXINT32),
        JOB_FIELD(idempotency_key, TEXT, 0, 0),
        JOB_FIELD(reason, TEXT, 0, 0),
        JOB_FIELD(queue, NAME, 0, 0),
        JOB_FIELD(priority, I32, G_MININT32, G_MAXINT32),
        JOB_FIELD(labels, LIST, 0, 0),
        JOB_FIELD(annotations, LIST, 0, 0),
        JOB_FIELD(spec_seq, I64, 0, G_MAXINT64),
        JOB_FIELD(array_seq, I64, 0, G_MAXINT64),
        JOB_FIELD(run_seq, I64, 0, G_MAXINT64),
        JOB_FIELD(run_node, I32, 0, G_MAXINT32),
        FIELD(Job, array_index, I32, -1, -1, SPEC_ARRAY_INDEX_MAX),
        JOB_FIELD(array_max, I32, 0, SPEC_ARRAY_MAX),
        JOB_FIELD(after, LIST, 0, 0),
        JOB_FIELD(results, LIST, 0, 0),
        JOB_FIELD(saved, I64, G_MININT64, G_MAXINT64),
        JOB_FIELD(evictions, I32, 0, G_MAXINT32),
        JOB_FIELD(evicted_for, TEXT, 0, 0),
        JOB_FIELD(warned, BOOL8, 0, 1),
        JOB_FIELD(settled, BOOL8, 0, 1),
        JOB_FIELD(kill_at, I64, G_MININT64, G_MAXINT64),
        JOB_FIELD(progressed, I64, G_MININT64, G_MAXINT64),
        JOB_FIELD(submitted, I64, G_MININT64, G_MAXINT64),
        ENVIRONMENT_FIELD(begun, I64, G_MININT64, G_MAXINT64),
        ENVIRONMENT_FIELD(ready, I64, G_MININT64, G_MAXINT64),
        JOB_FIELD(admitted, I64, G_MININT64, G_MAXINT64),
        JOB_FIELD(running, I64, G_MININT64, G_MAXINT64),
        JOB_FIELD(finished, I64, G_MININT64, G_MAXINT64),
        JOB_FIELD(not_before, I64, G_MININT64, G_MAXINT64),
        JOB_FIELD(queued_ms, I64, G_MININT64, G_MAXINT64),
        JOB_FIELD(starting_ms, I64, G_MININT64, G_MAXINT64),
        JOB_FIELD(running_ms, I64, G_MININT64, G_MAXINT64),
        JOB_FIELD(extra_port, I32, 0, 65535),
        FIELD(Job, cpu_share, I32, -1, -1, G_MAXINT32),
        FIELD(Job, memory_share, I64, -1, -1, G_MAXINT64),
        { NULL },
};

static const Field member_fields[] = {
        MEMBER_FIELD(state, U8, MEMBER_WAITING, 0, MEMBER_STATES - 1),
        MEMBER_FIELD(role, U8, 0, 0, SPEC_ROLES_MAX - 1),
        MEMBER_FIELD(index, I32, 0, 0, SPEC_REPLICAS_MAX),
        MEMBER_FIELD(signal, U8, 0, 0, 255),
        MEMBER_FIELD(oom, BOOL8, 0, 0, 1),
        MEMBER_FIELD(exit_code, I16, -1, G_MININT16, G_MAXINT16),
        MEMBER_FIELD(port, U16, 0, 0, 65535),
        MEMBER_FIELD(pid, I32, 0, 0, G_MAXINT32),
        MEMBER_FIELD(started, I64, 0, G_MININT64, G_MAXINT64),
        MEMBER_FIELD(finished, I64, 0, G_MININT64, G_MAXINT64),
        MEMBER_FIELD(peak_memory, I64, 0, G_MININT64, G_MAXINT64),
        MEMBER_FIELD(cpu_us, I64, 0, G_MININT64, G_MAXINT64),
        MEMBER_FIELD(gpus, TEXT, 0, 0, 0),
        MEMBER_FIELD(node, TEXT, 0, 0, 0),
        { "stands_on", JSON_NAME("stands_on"), TEXT, offsetof(Member, reported_node), 0, 0, 0 },
        MEMBER_FIELD(error, TEXT, 0, 0, 0),
        { NULL },
};

/* Of the other preparations. */
static const Field preparation_fields[] = {
        FIELD(Preparation, state, U8, 0, PREPARATION_RUNNING, PREPARATION_STATES - 1),
        FIELD(Preparation, begun, I64, 0, G_MININT64, G_MAXINT64),
        FIELD(Preparation, ready, I64, 0, G_MININT64, G_MAXINT64),
        { NULL },
};

static gint64 load(const Field *field, const void *at)
{
        switch (field->kind) {
        case U8: return *(const guint8 *)at;
        case BOOL8: return *(const bool *)at;
        case I16: return *(const gint16 *)at;
        case U16: return *(const guint16 *)at;
        case I32: return *(const int *)at;
        case I64: return *(const gint64 *)at;
        case TEXT:
        case NAME:
        case LIST: break;
        }
        g_assert_not_reached();
}

static void save(const Field *field, void *at, gint64 value)
{
        switch (field->kind) {
        case U8: *(guint8 *)at = (guint8)value; break;
        case BOOL8: *(bool *)at = value != 0; break;
        case I16: *(gint16 *)at = (gint16)value; break;
        case U16: *(guint16 *)at = (guint16)value; break;
        case I32: *(int *)at = (int)value; break;
        case I64: *(gint64 *)at = value; break;
        case TEXT:
        case NAME:
        case LIST: break;
        }
}

/* Text is converted to UTF-8 (an error may contain a program's own bytes): the store must be able to read it
 * back. */
static void put_list(JsonOut *out, const Field *field, char *const *list)
{
        json_out_open(out, field->key, '[');
        for (; *list; list++)
                json_put_item_text(out, *list);
        json_close(out, ']');
}

static void put_field(JsonOut *out, const Field *field, const void *at)
{
        const void *pointer = field->kind >= TEXT ? *(void *const *)at : NULL;

        switch (field->kind) {
        case TEXT:
        case NAME:
                if (pointer && (field->kind == TEXT || strcmp(pointer, QUEUE_DEFAULT) != 0))
                        json_out_text(out, field->key, pointer);
                return;
        case LIST:
                if (pointer)
                        put_list(out, field, (char *const *)pointer);
                return;
        default:
                if (load(field, at) != field->first)
                        json_out_int(out, field->key, load(field, at));
        }
}

/* The struct that holds the field. */
static void *base_of(const Field *field, const void *base, const Preparation *environment)
{
        return (void *)(field->in_environment ? (const void *)environment : base);
}

static void put_fields(JsonOut *out, const Field *fields, const void *base)
{
        for (const Field *field = fields; field->name; field++)
                put_field(out, field, (const char *)base + field->offset);
}

static bool unpack_text(const Field *field, const json_t *object, const char *where, void *at, GError **error)
{
        const char *text = NULL;

        if (!json_get_string(object, where, field->name, G_MAXINT32, &text, error))
                return false;
        if (field->kind == NAME) {
                *(const char **)at = g_intern_string(text ? text : QUEUE_DEFAULT);
                return true;
        }
        g_free(*(char **)at);
        *(char **)at = g_strdup(text);
        return true;
}

static bool unpack_list(const Field *field, const json_t *object, const char *where, void *at, GError **error)
{
        g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(g_free);
        json_t *array = NULL;
        const json_t *item;
        size_t i;

        if (!json_get_array(object, where, field->name, LIST_MAX, &array, error))
                return false;
        json_array_foreach(array, i, item) {
                if (!json_is_string(item))
                        return err_set(error, ERR_INVALID, "%s%s[%zu] must be a string", where, field->name,
                                       i);
                g_ptr_array_add(list, g_strdup(json_string_value(item)));
        }
        g_ptr_array_add(list, NULL);
        g_strfreev(*(char ***)at);
        *(char ***)at = array ? (char **)g_ptr_array_steal(list, NULL) : NULL;
        return true;
}

static bool unpack_fields(const Field *fields, const json_t *object, const char *where, void *base,
                          Preparation *environment, GError **error)
{
        for (const Field *field = fields; field->name; field++) {
                void *at = (char *)base_of(field, base, environment) + field->offset;
                gint64 value = field->first;

                if (field->kind == LIST) {
                        if (!unpack_list(field, object, where, at, error))
                                return false;
                } else if (field->kind >= TEXT) {
                        if (!unpack_text(field, object, where, at, error))
                                return false;
                } else {
                        if (!json_get_int(object, where, field->name, field->min, field->max, &value, error))
                                return false;
                        save(field, at, value);
                }
        }
        return true;
}

/* ---- preparations ----
 * Jobs of older servers had one, in the fields env_*. It is the environment that the job's cluster makes; the text
 * does not tell of which kind it is. */

static const Preparation *first_environment(const Job *job)
{
        for (int i = 0; i < job->n_preparations; i++)
                if (preparation_info(job->preparations[i].kind)->is_environment)
                        return &job->preparations[i];
        return NULL;
}

static void put_preparations(JsonOut *out, const Job *job, const Preparation *environment)
{
        json_open_member(out, "preparations", '[');
        for (int i = 0; i < job->n_preparations; i++) {
                const Preparation *one = &job->preparations[i];

                if (one == environment)
                        continue;
                json_open(out, '{');
                put_fields(out, preparation_fields, one);
                json_put_text(out, "kind", preparation_info(one->kind)->name);
                json_close(out, '}');
        }
        json_close(out, ']');
}

static bool unpack_preparation(Job *job, const json_t *object, const char *where, GError **error)
{
        const char *name = json_string_value(json_object_get(object, "kind"));
        Preparation one = { 0 };
        PreparationKind kind;

        if (!json_is_object(object) || !name || !preparation_parse(name, &kind))
                return err_set(error, ERR_INVALID, "%skind: there is no such preparation", where);
        if (job_preparation(job, kind))
                return err_set(error, ERR_INVALID, "%skind: '%s' is there twice", where, name);
        one.kind = (guint8)kind;
        if (!unpack_fields(preparation_fields, object, where, &one, NULL, error))
                return false;
        if (one.state == PREPARATION_NONE)
                return err_set(error, ERR_INVALID, "%sstate is missing", where);
        *job_add_preparation(job, kind, (PreparationState)one.state) = one;
        return true;
}

/* `environment` is of the kind that is left for it, the first if its cluster makes no other (preparing.c). */
static bool unpack_preparations(Job *job, Preparation environment, const json_t *array, GError **error)
{
        const json_t *item;
        size_t i;

        job_drop_preparations(job);
        json_array_foreach(array, i, item) {
                g_autofree char *where = g_strdup_printf("preparations[%zu].", i);

                if (!unpack_preparation(job, item, where, error))
                        return false;
        }
        if (environment.state == PREPARATION_NONE)
                return true;
        if (job_preparation(job, PREPARE_ENVIRONMENT))
                return err_set(error, ERR_INVALID, "env_state: it has two environments");
        environment.kind = PREPARE_ENVIRONMENT;
        *job_add_preparation(job, PREPARE_ENVIRONMENT, PREPARATION_READY) = environment;
        return true;
}

/* ---- the whole ---- */

static void put_members(JsonOut *out, const Job *job)
{
        json_open_member(out, "members", '[');
        for (int i = 0; i < job->n_members; i++) {
                json_open(out, '{');
                put_fields(out, member_fields, &job->members[i]);
                json_close(out, '}');
        }
        json_close(out, ']');
}

/* A job of its own specification does not name it. */
static bool is_omitted(const Field *field, const Job *job)
{
        return !field->in_environment && field->offset == offsetof(Job, spec_seq) &&
               job->spec_seq == job->seq;
}

char *job_pack(const Job *job)
{
        static const Preparation none = { .state = PREPARATION_NONE };
        const Preparation *environment = first_environment(job);
        JsonOut out = json_out_begin(256);

        json_open(&out, '{');
        for (const Field *field = job_fields; field->name; field++)
                if (!is_omitted(field, job))
                        put_field(&out, field,
                                  (const char *)base_of(field, job, environment ? environment : &none) +
                                          field->offset);
        if (job->n_preparations > (environment != NULL))
                put_preparations(&out, job, environment);
        if (job->n_members)
                put_members(&out, job);
        json_close(&out, '}');
        return json_out_end(&out);
}

static bool unpack_members(Job *job, const json_t *array, GError **error)
{
        const json_t *item;
        size_t i;

        job_drop_members(job);
        if (!array)
                return true;
        job->n_members = (int)json_array_size(array);
        job->members = g_new0(Member, MAX(job->n_members, 1));
        json_array_foreach(array, i, item) {
                g_autofree char *where = g_strdup_printf("members[%zu].", i);

                if (!json_is_object(item))
                        return err_set(error, ERR_INVALID, "members[%zu] must be an object", i);
                if (!unpack_fields(member_fields, item, where, &job->members[i], NULL, error))
                        return false;
                if (job->members[i].role >= job->spec->n_roles)
                        return err_set(error, ERR_INVALID, "%srole: the job has %d roles only", where,
                                       job->spec->n_roles);
        }
        return true;
}

bool job_unpack(Job *job, const char *text, GError **error)
{
        g_autoptr(json_t) object = json_parse(text, strlen(text), error);
        json_t *preparations = NULL, *members = NULL;
        Preparation environment;

        if (!object)
                return false;
        if (!json_is_object(object))
                return err_set(error, ERR_INVALID, "a packed job must be an object");
        if (!unpack_fields(job_fields, object, "", job, &environment, error))
                return false;
        if (job->spec_seq == 0) /* the specification is in its own row */
                job->spec_seq = job->seq;
        /* Older servers stored no memory_share; their cpu_share applied only if no role requests CPU. */
        if (job->memory_share < 0 && job->cpu_share >= 0 && spec_declares_cpu(job->spec))
                job->cpu_share = SPEC_SHARE_MAX;
        return json_get_array(object, "", "preparations", PREPARE_KINDS, &preparations, error) &&
               unpack_preparations(job, environment, preparations, error) &&
               json_get_array(object, "", "members", SPEC_REPLICAS_MAX, &members, error) &&
               unpack_members(job, members, error);
}
