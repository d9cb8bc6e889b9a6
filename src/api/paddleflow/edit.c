/* Changes of the catalog's objects: changes a copy and puts it; retries if the object changed meanwhile.
 *
 *   copy ─▶ apply ─▶ engine_put ─▶ committed: answer
 *     ▲                  │
 *     └── changed meanwhile */
#include <string.h>

#include "api/paddleflow/internal.h"

enum { TRIES = 16 };

struct Edit {
        PaddleFlow *flow;
        HttpRequest *request;
        const EditRow *row;
        char *name, *by;
        json_t *body;
        const char *member; /* of a new one: the reply's only member */
        gint64 version;     /* of what was copied */
        int tries;
};

static Edit *edit_new(const Call *call, const EditRow *row, const char *name)
{
        Edit *edit = g_new0(Edit, 1);

        edit->flow = call->flow;
        edit->request = http_request_ref(call->request);
        edit->row = row;
        edit->name = g_strdup(name);
        edit->by = g_strdup(call->user);
        return edit;
}

static void edit_free(Edit *edit)
{
        http_request_unref(edit->request);
        g_free(edit->name);
        g_free(edit->by);
        json_decref(edit->body);
        g_free(edit);
}

static void finish(Edit *edit, GError *error)
{
        if (error)
                paddleflow_fail(edit->request, error, edit->row->map);
        edit_free(edit);
}

static void done(Job *job, bool repeated, const GError *error, void *arg);

static void attempt(Edit *edit)
{
        g_autoptr(Catalog) catalog = engine_catalog(edit->flow->engine);
        const Object *object = catalog_find(catalog, edit->row->kind, edit->name);
        g_autoptr(Object) draft = object ? object_copy(object) : NULL;
        GError *error = NULL;

        if (!object) {
                paddleflow_set(&error, edit->row->gone, "there is no %s '%.255s'", kind_name(edit->row->kind),
                               edit->name);
                finish(edit, error);
        } else if (edit->row->apply && !edit->row->apply(edit->flow, catalog, draft, edit->body, &error)) {
                finish(edit, error);
        } else {
                edit->version = object->version;
                engine_put(edit->flow->engine, draft, edit->by, done, edit);
        }
}

static bool was_changed(const Edit *edit, const Catalog *catalog)
{
        const Object *object = catalog_find(catalog, edit->row->kind, edit->name);

        return edit->version && object && object->version != edit->version;
}

static void answer(const Edit *edit, const Catalog *catalog)
{
        const Object *object = catalog_find(catalog, edit->row->kind, edit->name);

        if (edit->member) {
                bool id = g_str_has_suffix(edit->member, "ID");

                paddleflow_reply(edit->request,
                                 json_pack("{s:s}", edit->member, id && object ? object->id : edit->name));
        } else if (edit->row->show && object) {
                g_autoptr(json_t) shown = edit->row->show(edit->flow, catalog, object);

                http_reply_json(edit->request, edit->row->status ? edit->row->status : 200, shown);
        } else {
                paddleflow_reply_empty(edit->request);
        }
}

static void done(Job *job, bool repeated, const GError *error, void *arg)
{
        Edit *edit = arg;
        g_autoptr(Catalog) catalog = engine_catalog(edit->flow->engine);

        if (!error) {
                answer(edit, catalog);
                finish(edit, NULL);
        } else if (err_is(error, ERR_CONFLICT) && was_changed(edit, catalog) && ++edit->tries < TRIES) {
                attempt(edit);
        } else {
                finish(edit, g_error_copy(error));
        }
}

void edit_change(const Call *call, const EditRow *row, const char *name, json_t *body)
{
        Edit *edit = edit_new(call, row, name);

        edit->body = body;
        attempt(edit);
}

static void dropped(Job *job, bool repeated, const GError *error, void *arg)
{
        Edit *edit = arg;

        if (!error)
                paddleflow_reply_empty(edit->request);
        finish(edit, error ? g_error_copy(error) : NULL);
}

void edit_drop(const Call *call, const EditRow *row, const char *name)
{
        Edit *edit = edit_new(call, row, name);

        http_request_set_subject(call->request, name);
        engine_drop(call->flow->engine, row->kind, name, 0, call->user, dropped, edit);
}

void edit_put(const Call *call, const EditRow *row, Object *draft, const char *member)
{
        Edit *edit = edit_new(call, row, draft->name);

        http_request_set_subject(call->request, draft->name);
        edit->member = member;
        engine_put(call->flow->engine, draft, call->user, done, edit);
        object_unref(draft);
}

/* ---- whole requests ---- */

static json_t *edit_body(const Call *call, const EditKind *kind, GError **error)
{
        json_t *body = call_body(call, kind->body, error);

        if (body && kind->trims)
                go_trim(body, kind->member);
        return body;
}

void edit_create(HttpRequest *request, void *arg, const EditKind *kind)
{
        g_auto(Call) call;
        g_autoptr(json_t) body = NULL;
        g_autoptr(Object) draft = NULL;
        GError *error = NULL;

        if (!call_begin(&call, request, arg))
                return;
        body = edit_body(&call, kind, &error);
        if (body && kind->check_new(&call, body, &error)) {
                draft = object_new(kind->made.kind, go_text(body, kind->member));
                if (kind->fill(&call, draft, body, &error)) {
                        edit_put(&call, &kind->made, g_steal_pointer(&draft), kind->answer);
                        return;
                }
        }
        call_fail(&call, error);
}

void edit_update(HttpRequest *request, void *arg, const EditKind *kind)
{
        g_auto(Call) call;
        g_autoptr(json_t) body = NULL;
        GError *error = NULL;
        const char *name;

        if (!call_begin(&call, request, arg))
                return;
        name = call_param(&call, kind->param);
        body = edit_body(&call, kind, &error);
        if (body && kind->check_change(&call, name, body, &error))
                edit_change(&call, &kind->changed, name, g_steal_pointer(&body));
        else
                call_fail(&call, error);
}

void edit_delete(HttpRequest *request, void *arg, const EditKind *kind)
{
        g_auto(Call) call;
        GError *error = NULL;
        const char *name;

        if (!call_begin(&call, request, arg))
                return;
        name = call_param(&call, kind->param);
        if (kind->check_drop(&call, name, &error))
                edit_drop(&call, &kind->dropped, name);
        else
                call_fail(&call, error);
}
