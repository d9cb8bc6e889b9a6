/* Routes that change a run while it goes on: breakpoints, single steps, changed parameters (doc/reference/pipelines.md,
 * "Breakpoints"). */
#include "api/v1/runs.h"
#include "base/err.h"
#include "pipeline/run-break.h"

enum { BODY_MAX = 256 * 1024, PARAMETERS_MAX = 1000 };

static json_t *take_body(HttpRequest *request, const char *const *known, GError **error)
{
        gsize len;
        json_t *body;

        (void)http_request_body(request, &len);
        body = len > 0 ? http_request_json(request, error) : json_object();
        if (body && !json_only(body, "", known, error))
                g_clear_pointer(&body, json_decref);
        return body;
}

static void go_on(HttpRequest *request, Api *api, bool single)
{
        static const char *const known[] = { "step", NULL };
        g_autoptr(RunRecord) run = api_run(api, request);
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) body = run ? take_body(request, known, &error) : NULL;
        const char *step = NULL;

        if (!run)
                return;
        if (body && json_get_string(body, "", "step", STEP_TEXT_MAX, &step, &error))
                engine_continue_run(api->engine, run->id, step, single, http_request_caller(request)->user,
                                    api_run_changed, api_run_change(api, request, 200));
        else
                http_fail(request, error);
}

static void continue_run(HttpRequest *request, void *arg)
{
        go_on(request, arg, false);
}

static void step_run(HttpRequest *request, void *arg)
{
        go_on(request, arg, true);
}

static void break_run(HttpRequest *request, void *arg)
{
        static const char *const known[] = { "before", "after", "remove", NULL };
        Api *api = arg;
        g_autoptr(RunRecord) run = api_run(api, request);
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) body = run ? take_body(request, known, &error) : NULL;
        json_t *before = NULL, *after = NULL;
        bool remove = false;

        if (!run)
                return;
        if (body && json_get_array(body, "", "before", BREAKS_MAX, &before, &error) &&
            json_get_array(body, "", "after", BREAKS_MAX, &after, &error) &&
            json_get_bool(body, "", "remove", &remove, &error))
                engine_break_run(api->engine, run->id, before, after, remove,
                                 http_request_caller(request)->user, api_run_changed,
                                 api_run_change(api, request, 200));
        else
                http_fail(request, error);
}

static bool read_change(const json_t *body, const char **ret_step, json_t **ret, GError **error)
{
        if (!json_get_string(body, "", "step", STEP_TEXT_MAX, ret_step, error) ||
            !json_get_object(body, "", "parameters", PARAMETERS_MAX, ret, error))
                return false;
        if (!*ret_step)
                return err_set(error, ERR_INVALID, "step is missing: which step gets other parameters?");
        return json_object_size(*ret) > 0 ||
               err_set(error, ERR_INVALID, "parameters is missing: an object of names and values");
}

static void set_parameters(HttpRequest *request, void *arg)
{
        static const char *const known[] = { "step", "parameters", NULL };
        Api *api = arg;
        g_autoptr(RunRecord) run = api_run(api, request);
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) body = run ? take_body(request, known, &error) : NULL;
        const char *step = NULL;
        json_t *parameters = NULL;

        if (!run)
                return;
        if (body && read_change(body, &step, &parameters, &error))
                engine_set_run(api->engine, run->id, step, parameters, http_request_caller(request)->user,
                               api_run_changed, api_run_change(api, request, 200));
        else
                http_fail(request, error);
}

const HttpRoute run_pause_routes[] = {
        { "POST", "/v1/runs/{run}/continue", ACCESS_RUN, VERB_UPDATE, continue_run,
          "Let a paused run go on, everywhere or only at one step.", .body_max = BODY_MAX, .request = "GoOn",
          .reply = "Run", .on_pool = true }, /* the names of large DAGs are searched */
        { "POST", "/v1/runs/{run}/step", ACCESS_RUN, VERB_UPDATE, step_run,
          "Let one paused step go on, and pause at what starts next.", .body_max = BODY_MAX,
          .request = "GoOn", .reply = "Run", .on_pool = true },
        { "POST", "/v1/runs/{run}/breakpoints", ACCESS_RUN, VERB_UPDATE, break_run,
          "Set breakpoints of a run, or remove them.", .body_max = BODY_MAX, .request = "Breakpoints",
          .reply = "Run", .on_pool = true },
        { "POST", "/v1/runs/{run}/parameters", ACCESS_RUN, VERB_UPDATE, set_parameters,
          "Change parameters of a step before which a run is paused.", .body_max = BODY_MAX,
          .request = "ChangedParameters", .reply = "Run", .on_pool = true },
        { 0 },
};
