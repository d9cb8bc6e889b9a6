/* A job's changing part as one JSON text, as the store keeps it. Fields with their first value are left out,
 * so that the thousands of plain jobs stay small; tables name the fields, and both ways are drawn from them.
 */
#include <string.h>

#include "base/err.h"
#include "model/job.h"

typedef enum { U8, BOOL8, I16, U16, I32, I64, TEXT } Kind;

typedef struct {
        const char *name;
        Kind kind;
        size_t offset;
        gint64 first; /* the value that is left out */
        gint64 min, max;
} Field;

#define JOB_FIELD(field, kind, min, max)                                                                     \
        {                                                                                                    \
#field, kind, offsetof(Job, field), 0, min, max                                              \
        }
#define MEMBER_FIELD(field, kind, first, min, max)                                                           \
        {                                                                                                    \
#field, kind, offsetof(Member, field), first, min, max                                       \
        }

static const Field job_fields[] = {
        JOB_FIELD(revision, I64, 0, G_MAXINT64),
        JOB_FIELD(env_state, U8, 0, ENV_FAILED),
        JOB_FIELD(stop_to, U8, 0, JOB_STATES - 1),
        JOB_FIELD(attempt, I32, 0, G_MAXINT32),
        JOB_FIELD(failures, I32, 0, G_MAXINT32),
        JOB_FIELD(idempotency_key, TEXT, 0, 0),
        JOB_FIELD(reason, TEXT, 0, 0),
        JOB_FIELD(submitted, I64, G_MININT64, G_MAXINT64),
        JOB_FIELD(env_ready, I64, G_MININT64, G_MAXINT64),
        JOB_FIELD(admitted, I64, G_MININT64, G_MAXINT64),
        JOB_FIELD(running, I64, G_MININT64, G_MAXINT64),
        JOB_FIELD(finished, I64, G_MININT64, G_MAXINT64),
        JOB_FIELD(not_before, I64, G_MININT64, G_MAXINT64),
        JOB_FIELD(queued_ms, I64, G_MININT64, G_MAXINT64),
        JOB_FIELD(starting_ms, I64, G_MININT64, G_MAXINT64),
        JOB_FIELD(running_ms, I64, G_MININT64, G_MAXINT64),
        JOB_FIELD(extra_port, I32, 0, 65535),
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
        MEMBER_FIELD(error, TEXT, 0, 0, 0),
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
        case TEXT: break;
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
        case TEXT: break;
        }
}

/* Text that is not UTF-8 (a program's own words in an error) is made so: it must come back from the store. */
static json_t *text_json(const char *text)
{
        g_autofree char *valid = g_utf8_make_valid(text, -1);

        return json_string(valid);
}

static json_t *pack_fields(const Field *fields, const void *base)
{
        json_t *object = json_object();

        for (const Field *field = fields; field->name; field++) {
                const void *at = (const char *)base + field->offset;

                if (field->kind == TEXT) {
                        if (*(char *const *)at)
                                json_object_set_new(object, field->name, text_json(*(char *const *)at));
                } else if (load(field, at) != field->first) {
                        json_object_set_new(object, field->name, json_integer(load(field, at)));
                }
        }
        return object;
}

static bool unpack_fields(const Field *fields, const json_t *object, const char *where, void *base,
                          GError **error)
{
        for (const Field *field = fields; field->name; field++) {
                void *at = (char *)base + field->offset;
                const char *text = NULL;
                gint64 value = field->first;

                if (field->kind == TEXT) {
                        if (!json_get_string(object, where, field->name, G_MAXINT32, &text, error))
                                return false;
                        g_free(*(char **)at);
                        *(char **)at = g_strdup(text);
                } else {
                        if (!json_get_int(object, where, field->name, field->min, field->max, &value, error))
                                return false;
                        save(field, at, value);
                }
        }
        return true;
}

char *job_pack(const Job *job)
{
        g_autoptr(json_t) object = pack_fields(job_fields, job);
        json_t *members = json_array();

        for (int i = 0; i < job->n_members; i++)
                json_array_append_new(members, pack_fields(member_fields, &job->members[i]));
        if (job->n_members)
                json_object_set_new(object, "members", members);
        else
                json_decref(members);
        return json_format(object);
}

static void drop_members(Job *job)
{
        for (int i = 0; i < job->n_members; i++) {
                g_free(job->members[i].gpus);
                g_free(job->members[i].error);
        }
        g_clear_pointer(&job->members, g_free);
        job->n_members = 0;
}

static bool unpack_members(Job *job, const json_t *array, GError **error)
{
        const json_t *item;
        size_t i;

        drop_members(job);
        if (!array)
                return true;
        job->n_members = (int)json_array_size(array);
        job->members = g_new0(Member, MAX(job->n_members, 1));
        json_array_foreach(array, i, item)
        {
                g_autofree char *where = g_strdup_printf("members[%zu].", i);

                if (!json_is_object(item))
                        return err_set(error, ERR_INVALID, "members[%zu] must be an object", i);
                if (!unpack_fields(member_fields, item, where, &job->members[i], error))
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
        json_t *members = NULL;

        if (!object)
                return false;
        if (!json_is_object(object))
                return err_set(error, ERR_INVALID, "a packed job must be an object");
        return unpack_fields(job_fields, object, "", job, error) &&
               json_get_array(object, "", "members", SPEC_REPLICAS_MAX, &members, error) &&
               unpack_members(job, members, error);
}
