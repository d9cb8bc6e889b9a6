/* Jobs (see job-file.h; doc/reference/paddleflow-api.md, "Its job files"). */
#include "cli/paddleflow/job-file.h"

#include <string.h>

#include "base/err.h"
#include "base/file.h"

enum { FILE_MAX = 16 * 1024 * 1024 };

static bool is_empty(const json_t *value)
{
        if (!value || json_is_null(value) || json_is_false(value))
                return true;
        if (json_is_string(value))
                return json_string_length(value) == 0;
        if (json_is_object(value))
                return json_object_size(value) == 0;
        if (json_is_array(value))
                return json_array_size(value) == 0;
        return json_is_number(value) && json_number_value(value) == 0;
}

/* Of `from` the members that are named and say something. */
static void copy_members(json_t *to, const json_t *from, const char *const *names)
{
        for (; *names; names++) {
                json_t *value = json_object_get(from, *names);

                if (!is_empty(value))
                        json_object_set(to, *names, value);
        }
}

static json_t *copied(const json_t *from, const char *const *names)
{
        json_t *to = json_object();

        copy_members(to, from, names);
        return to;
}

static void put_filled(json_t *to, const char *name, json_t *take_value)
{
        if (is_empty(take_value))
                json_decref(take_value);
        else
                json_object_set_new(to, name, take_value);
}

static json_t *copied_list(const json_t *list, const char *const *names)
{
        json_t *to = json_array(), *item;
        gsize i;

        json_array_foreach(list, i, item)
                json_array_append_new(to, copied(item, names));
        return to;
}

/* What a job and a member of one have alike. */
static void put_spec(json_t *to, const json_t *from)
{
        static const char *const plain[] = { "image", "id",      "name", "labels", "annotations",
                                             "env",   "command", "args", "port",   "extensionTemplate",
                                             NULL };
        static const char *const flavour[] = { "name", "cpu", "mem", "scalarResources", NULL };
        static const char *const fs[] = { "name", "mountPath", "subPath", "readOnly", NULL };

        copy_members(to, from, plain);
        put_filled(to, "flavour", copied(json_object_get(from, "flavour"), flavour));
        put_filled(to, "fs", copied(json_object_get(from, "fs"), fs));
        put_filled(to, "extraFS", copied_list(json_object_get(from, "extraFS"), fs));
}

static bool put_members(json_t *body, const json_t *file, GError **error)
{
        json_t *members = json_object_get(file, "members"), *list, *member;
        gsize i;

        if (is_empty(members))
                return true;
        list = json_array();
        json_object_set_new(body, "members", list);
        json_array_foreach(members, i, member) {
                static const char *const needed[] = { "role", "replicas", NULL };
                json_t *one = copied(member, needed);
                const json_t *queue = json_object_get(json_object_get(member, "schedulingPolicy"), "queue");

                json_array_append_new(list, one);
                for (const char *const *name = needed; *name; name++)
                        if (!json_object_get(one, *name))
                                return err_set(error, ERR_FAILED, "members[%d] has no '%s'", (int)i, *name);
                put_spec(one, member);
                json_object_set_new(one, "schedulingPolicy",
                                    json_pack("{s:o}", "queue",
                                              json_is_string(queue) ? json_string(json_string_value(queue))
                                                                    : json_null()));
        }
        return true;
}

bool job_body_parse(json_t *body, const json_t *file, GError **error)
{
        static const char *const policy[] = { "queue", "priority", NULL };
        static const char *const framework[] = { "framework", NULL };

        if (!json_is_object(file))
                return err_set(error, ERR_FAILED, "the job is not an object");
        put_filled(body, "schedulingPolicy", copied(json_object_get(file, "schedulingPolicy"), policy));
        if (!json_is_string(json_object_get(json_object_get(body, "schedulingPolicy"), "queue")))
                return err_set(error, ERR_FAILED, "schedulingPolicy.queue is missing");
        put_spec(body, file);
        copy_members(body, file, framework);
        return put_members(body, file, error);
}

bool job_body(json_t *body, char *const *words, GError **error)
{
        g_autofree char *text = NULL;
        g_autoptr(json_t) file = NULL;
        g_autoptr(GError) cause = NULL;
        gsize len;

        if (!file_read(words[1], FILE_MAX, &text, &len, &cause))
                return err_set(error, ERR_FAILED, "%s", cause->message);
        file = json_parse(text, len, &cause);
        if (!file || !job_body_parse(body, file, &cause))
                return err_set(error, ERR_FAILED, "'%s': %s", words[1], cause->message);
        return true;
}

/* ---- show ---- */

static void append_task(GString *out, const json_t *task)
{
        const char *names[] = { "role", "name", "nodeName", "status" };
        g_autofree char *index =
                json_format(json_object_get(task, "index") ? json_object_get(task, "index") : json_null());

        if (out->len)
                g_string_append_c(out, '\n');
        for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
                const char *text = json_string_value(json_object_get(task, names[i]));

                if (!text || !*text)
                        continue;
                g_string_append_printf(out, "%s%.300s", i > 0 ? " " : "", text);
                if (i == 0 && json_is_integer(json_object_get(task, "index")))
                        g_string_append_printf(out, "-%s", index);
        }
}

json_t *job_rows(json_t *reply, GError **error)
{
        static const char *const lists[] = { "runtimes", "nodes" };
        const json_t *distributed = json_object_get(reply, "distributedRuntime"), *task;
        g_autoptr(GString) tasks = g_string_new(NULL);
        gsize i;

        if (json_object_size(json_object_get(reply, "runtime")) > 0)
                append_task(tasks, json_object_get(reply, "runtime"));
        if (!distributed)
                distributed = json_object_get(reply, "workflowRuntime");
        for (gsize list = 0; list < G_N_ELEMENTS(lists); list++)
                json_array_foreach(json_object_get(distributed, lists[list]), i, task)
                        append_task(tasks, task);
        json_object_set_new(reply, "tasks", json_string(tasks->str));
        return json_pack("[O]", reply);
}
