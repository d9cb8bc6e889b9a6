/* A job as clients of PaddleFlow ask for it, made a specification (doc/reference/paddleflow-api.md, "Fields
 * of a job" and "Frameworks and roles"; doc/reference/scheduling.md, "Variables of members"). All checks of
 * that page come first, in its order; then the cluster's: a job that it cannot run is accepted, and fails with
 * the reason.
 *
 *   body ─▶ checks ─▶ JobRequest: members with their flavours ─▶ roles of a framework's row ─▶ Spec
 *                       (jobspec/job-request.h)                      └─ none: a refusal
 *
 * What was asked for is kept as the specification's origin, and shown from there. */
#include <string.h>

#include "api/paddleflow/internal.h"
#include "api/paddleflow/job-files.h"
#include "jobspec/job-flavour.h"
#include "jobspec/job-mounts.h"
#include "jobspec/job-request.h"
#include "model/baseline.h"
#include "model/extension.h"
#include "model/framework.h"

enum { MEMBERS_MAX = 1000, NAME_MAX_BYTES = 512, PORT_MAX = 65534 };
enum { KEPT_AROUND = 32 }; /* bytes of the origin around what is kept */

/* A member as the request has it; its checked form is the member of the same index in `request`. */
typedef struct {
        const json_t *body; /* borrowed */
        json_t *run;        /* the same with what it leaves to its template */
        json_t *flavour;    /* complete */
        JobFiles files;
} Wish;

typedef struct {
        const Call *call;
        JobRoute route;
        const json_t *body;
        JobRequest request; /* without a framework: of a workflow */
        GArray *wishes;     /* Wish */
        json_t *implied;    /* members that the template says; or NULL */
        GError *unfit;      /* what is wrong with them; or NULL */
        GPtrArray *lines;   /* char *: commands that were made */
} Asking;

/* What the errors of jobspec/ are called here. */
static const CodeMap field_codes[] = { { ERR_INVALID, CODE_JobInvalidField }, CODE_MAP_END };
static const CodeMap flavour_codes[] = { { ERR_NOT_FOUND, CODE_FlavourNotFound },
                                         { ERR_INVALID, CODE_FlavourInvalidField },
                                         CODE_MAP_END };
static const CodeMap sum_codes[] = { { ERR_QUOTA, CODE_QueueResourceNotMatch }, CODE_MAP_END };

/* Gives the error of a check that failed its code. */
static bool coded(bool good, const CodeMap *map, GError **error)
{
        if (!good && error)
                *error = paddleflow_translate(*error, map);
        return good;
}

static JobMember *member_at(const Asking *asking, guint i)
{
        return &g_array_index(asking->request.members, JobMember, i);
}

static Wish *wish_at(const Asking *asking, guint i)
{
        return &g_array_index(asking->wishes, Wish, i);
}

static void wish_clear(void *arg)
{
        json_decref(((Wish *)arg)->flavour);
        json_decref(((Wish *)arg)->run);
        job_files_clear(&((Wish *)arg)->files);
}

void asked_clear(Asked *asked)
{
        if (asked->spec)
                spec_unref(asked->spec);
        g_free(asked->id);
        g_free(asked->refusal);
}

/* ---- id, name, queue, priority ---- */

static bool check_names(const json_t *body, GError **error)
{
        const char *id = go_text(body, "id");

        if (*id && !name_is_valid(id))
                return paddleflow_set(error, CODE_InvalidNamePattern,
                                      "id '%.80s' is not a label of at most 63 of a-z, 0-9 and '-'", id);
        return strlen(go_text(body, "name")) <= NAME_MAX_BYTES ||
               paddleflow_set(error, CODE_InvalidNamePattern, "name is longer than %d bytes", NAME_MAX_BYTES);
}

static const json_t *policy_of(const json_t *body)
{
        return json_object_get(body, "schedulingPolicy");
}

static bool check_queue(Asking *asking, GError **error)
{
        const char *name = go_text(policy_of(asking->body), "queue");

        name = *name ? name : QUEUE_SEEDED;
        asking->request.queue = catalog_queue(asking->call->catalog, name);
        if (!asking->request.queue)
                return paddleflow_set(error, CODE_QueueNameNotFound, "there is no queue '%.255s'", name);
        if (!queue_is_granted(asking->call, asking->request.queue))
                return paddleflow_set(
                        error, CODE_AccessDenied,
                        "'%s' has no grant on queue '%s'\nRoot grants it: paddleflow queue grant %s %s.",
                        asking->call->user, name, asking->call->user, name);
        if (!auth_check_queue(http_request_caller(asking->call->request), name, error))
                return false;
        return !asking->request.queue->closed || paddleflow_set(error, CODE_QueueActionIsNotSupported,
                                                                "queue '%s' is closed for new jobs", name);
}

/* Creating takes three of the five words. */
static bool take_priority(const json_t *body, int *ret, GError **error)
{
        return coded(job_priority_parse(go_text(policy_of(body), "priority"), ret, error), field_codes,
                     error);
}

/* ---- templates ---- */

static const json_t *template_of(const json_t *body)
{
        return json_object_get(body, "extensionTemplate");
}

static const char *named_kind(const Asking *asking)
{
        return go_text(json_object_get(asking->body, "annotations"), EXTENSION_KIND_ANNOTATION);
}

/* For jobs that bring none; NULL: there is no such. */
static const json_t *default_of(const Asking *asking)
{
        if (template_of(asking->body) || !asking->request.framework)
                return NULL;
        return templates_find(asking->call->flow->templates,
                              paddleflow_framework_name(asking->request.framework), asking->request.mode,
                              named_kind(asking));
}

static const json_t *base_of(const Asking *asking)
{
        const json_t *own = template_of(asking->body);

        return own ? own : default_of(asking);
}

static const json_t *container_of(const Asking *asking, guint i)
{
        const json_t *own = asking->route == ROUTE_SINGLE ? NULL : template_of(wish_at(asking, i)->body);
        const json_t *template = own ? own : base_of(asking);

        return extension_container(extension_pod(template, paddleflow_role_name(member_at(asking, i)->role)));
}

/* ---- flavours ---- */

static bool take_flavour(const Asking *asking, guint i, GError **error)
{
        const Catalog *catalog = asking->call->catalog;
        const Queue *queue = asking->request.queue;
        Wish *wish = wish_at(asking, i);
        JobMember *member = member_at(asking, i);
        g_autoptr(json_t) implied = extension_flavour(container_of(asking, i));
        const json_t *own = json_object_get(wish->body, "flavour");
        const char *limit = go_text(json_object_get(wish->body, "env"), JOB_LIMIT_FLAVOUR);

        wish->flavour = job_flavour(catalog, queue, own ? own : implied, error);
        member->flavour = go_text(wish->flavour, "name");
        return coded(wish->flavour && job_flavour_amounts(wish->flavour, &member->each, error) &&
                             job_flavour_check_limit(catalog, queue, limit, &member->each, error),
                     flavour_codes, error);
}

/* ---- members ---- */

static bool check_sum(const Asking *asking, GError **error)
{
        return asking->call->flow->skip_resource_check ||
               coded(job_request_check_sum(asking->call->catalog, &asking->request, error), sum_codes, error);
}

static bool check_rest(const Asking *asking, guint i, GError **error)
{
        const json_t *member = wish_at(asking, i)->body;
        gint64 port = json_integer_value(json_object_get(member, "port"));

        if (!*go_text(member, "image") && !json_object_get(member, "extensionTemplate") &&
            !json_object_get(asking->body, "extensionTemplate"))
                return paddleflow_set(error, CODE_JobInvalidField, "image is missing");
        if (port < 0 || port > PORT_MAX)
                return paddleflow_set(error, CODE_JobInvalidField,
                                      "port %" G_GINT64_FORMAT " is not one of 0 to %d", port, PORT_MAX);
        return job_files_take(asking->call, member, &wish_at(asking, i)->files, error);
}

static bool check_member_policy(const Asking *asking, const json_t *member, GError **error)
{
        const char *queue = go_text(policy_of(member), "queue");
        int priority = 0;

        if (*queue && strcmp(queue, asking->request.queue->object.name) != 0)
                return paddleflow_set(error, CODE_JobInvalidField,
                                      "a member names queue '%.255s', and the job queue '%s'", queue,
                                      asking->request.queue->object.name);
        return take_priority(member, &priority, error);
}

static bool take_role(const Asking *asking, guint i, GError **error)
{
        const json_t *body = wish_at(asking, i)->body;
        gint64 replicas = json_integer_value(json_object_get(body, "replicas"));
        JobMember *member = member_at(asking, i);

        if (replicas < 1 || replicas > SPEC_REPLICAS_MAX)
                return paddleflow_set(error, CODE_JobInvalidField,
                                      "replicas %" G_GINT64_FORMAT " are not 1 to %d", replicas,
                                      SPEC_REPLICAS_MAX);
        if (!coded(paddleflow_role_parse(asking->request.framework, go_text(body, "role"), &member->role,
                                         error),
                   field_codes, error))
                return false;
        member->replicas = (int)replicas;
        return true;
}

/* An administrator may ask for anything. */
static bool check_rights(const Asking *asking, const json_t *template, GError **error)
{
        const Queue *queue = asking->request.queue;
        const BaselinePlace place = baseline_place(asking->call->catalog, queue, queue->namespace);

        return asking->call->root || baseline_check(template, &place, error);
}

static bool check_own_template(const Asking *asking, const json_t *member, GError **error)
{
        const json_t *template = template_of(member);
        g_autoptr(GError) why = NULL;

        if (template && !extension_check_pods(template, &why))
                return paddleflow_set(error, CODE_JobInvalidField, "a member's %s", why->message);
        return check_rights(asking, template, error);
}

static guint add_member(Asking *asking, const json_t *body)
{
        g_array_append_val(asking->wishes, ((Wish){ .body = body }));
        (void)job_request_add(&asking->request);
        return asking->wishes->len - 1;
}

static bool take_member(Asking *asking, const json_t *body, GError **error)
{
        guint i = add_member(asking, body);

        return check_member_policy(asking, body, error) && take_role(asking, i, error) &&
               take_flavour(asking, i, error) && check_rest(asking, i, error) &&
               check_own_template(asking, body, error);
}

static bool take_list(Asking *asking, const json_t *members, GError **error)
{
        const json_t *member;
        size_t i;

        if (json_array_size(members) > MEMBERS_MAX)
                return paddleflow_set(error, CODE_JobInvalidField, "members: more than %d", MEMBERS_MAX);
        json_array_foreach(members, i, member) {
                if (!take_member(asking, member, error))
                        return false;
        }
        return check_sum(asking, error) &&
               coded(job_request_check_counts(&asking->request, error), field_codes, error);
}

/* A template without members is taken as it is: what is wrong with it is the cluster's affair. */
static bool take_members(Asking *asking, GError **error)
{
        const json_t *members = json_object_get(asking->body, "members");

        if (json_array_size(members) > 0)
                return take_list(asking, members, error);
        if (!template_of(asking->body))
                return paddleflow_set(error, CODE_JobInvalidField, "members are missing");
        asking->implied = extension_members(template_of(asking->body));
        (void)take_list(asking, asking->implied, &asking->unfit);
        return true;
}

/* ---- extension templates ---- */

static bool check_template(const Asking *asking, GError **error)
{
        const json_t *template = template_of(asking->body);
        const char *named = named_kind(asking);
        const char *framework =
                asking->request.framework ? paddleflow_framework_name(asking->request.framework) : "";
        g_autoptr(GError) why = NULL;

        if (template && !extension_check(framework, named, template, &why))
                return paddleflow_set(error, CODE_JobInvalidField, "%s", why->message);
        return check_rights(asking, template, error);
}

static void add_texts(json_t *words, const json_t *list)
{
        json_t *item;
        size_t i;

        json_array_foreach(list, i, item) {
                if (json_is_string(item))
                        json_array_append(words, item);
        }
}

/* The body of a member with what it leaves to its template: image and command. A new reference. */
static json_t *with_template(const Asking *asking, guint i)
{
        const json_t *container = container_of(asking, i);
        json_t *body = json_copy((json_t *)wish_at(asking, i)->body), *words;

        if (!*go_text(body, "image") && *go_text(container, "image"))
                json_object_set(body, "image", json_object_get(container, "image"));
        if (*go_text(body, "command") || json_array_size(json_object_get(body, "args")) > 0)
                return body;
        words = json_array();
        add_texts(words, json_object_get(container, "command"));
        add_texts(words, json_object_get(container, "args"));
        json_object_set_new(body, "args", words);
        return body;
}

/* The member's command begins in its first file system. */
static void begin_in_mount(const Asking *asking, guint i)
{
        const char *dir = job_files_work_dir(&wish_at(asking, i)->files);
        JobMember *member = member_at(asking, i);
        char *line;

        if (!dir || !job_mount_is_work_dir(go_text(member->env, "PF_MOUNT_PATH")) ||
            (!*member->command && json_array_size(member->args) == 0))
                return;
        line = job_command_in(dir, *member->command ? member->command : "exec \"$0\" \"$@\"");
        g_ptr_array_add(asking->lines, line);
        member->command = line;
}

/* What the member runs. */
static void fill_member(const Asking *asking, guint i)
{
        const json_t *run = wish_at(asking, i)->run;
        JobMember *member = member_at(asking, i);

        member->image = go_text(run, "image");
        member->command = go_text(run, "command");
        member->args = json_object_get(run, "args");
        member->env = json_object_get(run, "env");
        begin_in_mount(asking, i);
}

static bool take_framework(Asking *asking, GError **error)
{
        const char *name = go_text(asking->body, "framework");
        g_autofree char *lower = g_ascii_strdown(name, -1), *known = paddleflow_framework_names();

        asking->request.framework =
                paddleflow_framework_find(asking->route == ROUTE_SINGLE ? "standalone" : lower);
        return (asking->request.framework &&
                (asking->route == ROUTE_SINGLE || strcmp(lower, "standalone") != 0)) ||
               paddleflow_set(error, CODE_JobInvalidField, "framework '%.40s' is not one of %s", name, known);
}

static bool take_single(Asking *asking, GError **error)
{
        guint i = add_member(asking, asking->body);
        JobMember *member = member_at(asking, i);

        member->role = PADDLEFLOW_WORKER;
        member->replicas = 1;
        (void)job_request_check_counts(&asking->request, NULL);
        asking->request.mode = "Pod";
        return take_flavour(asking, i, error) && check_sum(asking, error) && check_rest(asking, i, error);
}

static bool take_parts(Asking *asking, GError **error)
{
        if (asking->route == ROUTE_WORKFLOW)
                return template_of(asking->body)
                               ? check_template(asking, error)
                               : paddleflow_set(error, CODE_JobInvalidField,
                                                "extensionTemplate is missing: the workflow");
        if (!take_framework(asking, error) || !check_template(asking, error))
                return false;
        return asking->route == ROUTE_SINGLE ? take_single(asking, error) : take_members(asking, error);
}

/* ---- the specification ---- */

/* Adds the members that are the same for all kinds of jobs. */
static void add_common(const Asking *asking, const char *id, const json_t *kept, json_t *spec)
{
        static const char *const maps[] = { "labels", "annotations" };

        job_request_put_place(&asking->request, id, spec);
        for (gsize i = 0; i < G_N_ELEMENTS(maps); i++)
                if (json_object_get(asking->body, maps[i]))
                        json_object_set(spec, maps[i], json_object_get(asking->body, maps[i]));
        json_object_set_new(spec, "origin", json_pack("{s:O}", "paddleflow", kept));
}

static void add_mounts(const Asking *asking, json_t *spec)
{
        g_autoptr(GArray) mounts = g_array_new(FALSE, FALSE, sizeof(JobMount));

        for (guint i = 0; i < asking->wishes->len; i++)
                job_files_add(&wish_at(asking, i)->files, mounts);
        if (mounts->len)
                json_object_set_new(spec, "mounts",
                                    job_mounts_format(asking->call->user, (const JobMount *)mounts->data,
                                                      mounts->len));
}

static json_t *running_spec(const Asking *asking, GError **error)
{
        const char *policy = go_text(json_object_get(asking->body, "env"), "PF_JOB_RESTART_POLICY");
        json_t *spec;

        if (asking->route == ROUTE_WORKFLOW) {
                err_set(error, ERR_INVALID, "there is nothing here that runs workflows");
                return NULL;
        }
        if (asking->unfit) {
                if (error)
                        *error = g_error_copy(asking->unfit);
                return NULL;
        }
        spec = job_request_format(&asking->request, error);
        if (spec)
                add_mounts(asking, spec);
        if (spec && asking->route == ROUTE_SINGLE && job_restart_retries(policy))
                json_object_set_new(spec, "retries", json_integer(job_restart_retries(policy)));
        return spec;
}

/* ---- what is kept ---- */

static json_t *kept_member(const Asking *asking, guint i)
{
        const Wish *wish = wish_at(asking, i);
        json_t *kept = json_deep_copy(wish->body), *env = json_object_get(kept, "env");

        json_object_set(kept, "flavour", wish->flavour);
        json_object_set(kept, "fs", wish->files.fs);
        json_object_set(kept, "extraFS", wish->files.extra);
        if (!env) {
                env = json_object();
                json_object_set_new(kept, "env", env);
        }
        json_object_set_new(env, "PF_JOB_NAMESPACE", text_or_blank(asking->request.queue->namespace));
        if (asking->route == ROUTE_SINGLE)
                json_object_set_new(env, "PF_JOB_MODE", json_string(asking->request.mode));
        else
                json_object_set_new(kept, "role",
                                    json_string(paddleflow_role_name(member_at(asking, i)->role)));
        return kept;
}

static json_t *kept_of(const Asking *asking, const char *id)
{
        static const char *const types[] = { "single", "distributed", "workflow" };
        static const char *const drops[] = { "labels", "annotations", "schedulingPolicy", "userName" };
        json_t *kept = asking->route == ROUTE_SINGLE ? kept_member(asking, 0) : json_deep_copy(asking->body);
        json_t *members = json_array();

        for (guint i = 0; asking->route != ROUTE_SINGLE && i < asking->wishes->len; i++)
                json_array_append_new(members, kept_member(asking, i));
        if (json_array_size(members) > 0)
                json_object_set(kept, "members", members);
        json_decref(members);
        for (gsize i = 0; i < G_N_ELEMENTS(drops); i++)
                json_object_del(kept, drops[i]);
        if (default_of(asking))
                json_object_set(kept, "defaultTemplate", (json_t *)default_of(asking));
        json_object_set_new(kept, "id", json_string(id));
        json_object_set_new(kept, "type", json_string(types[asking->route]));
        if (asking->request.framework)
                json_object_set_new(kept, "framework",
                                    json_string(paddleflow_framework_name(asking->request.framework)));
        return kept;
}

/* ---- all ---- */

static bool check_kept(const json_t *kept, GError **error)
{
        g_autofree char *text = json_format(kept);
        gsize len = strlen(text), most = SPEC_ORIGIN_MAX - KEPT_AROUND;

        return len <= most || paddleflow_set(error, CODE_JobInvalidField,
                                             "the job is too long to be kept: %" G_GSIZE_FORMAT
                                             " of at most %d bytes\nTemplate, commands and variables can be "
                                             "files of its image.",
                                             len, (int)SPEC_ORIGIN_MAX);
}

/* A job that breaks a rule of its framework is accepted, and fails on the cluster. */
static bool make(const Asking *asking, Asked *ret, GError **error)
{
        const char *id = go_text(asking->body, "id");
        g_autoptr(GError) why = NULL;
        g_autoptr(json_t) spec = NULL, refused = NULL, kept = NULL;
        g_autofree char *text = NULL;

        for (guint i = 0; i < asking->wishes->len; i++) {
                wish_at(asking, i)->run = with_template(asking, i);
                fill_member(asking, i);
        }
        ret->id = *id ? g_strdup(id) : job_new_id();
        kept = kept_of(asking, ret->id);
        if (!check_kept(kept, error))
                return false;
        spec = running_spec(asking, &why);
        if (spec) {
                add_common(asking, ret->id, kept, spec);
                ret->spec = spec_parse(spec, &why);
        }
        if (ret->spec)
                return true;
        text = paddleflow_message(why);
        ret->refusal = g_strdup_printf("submit job to cluster failed: %s", text);
        refused = json_pack("{s:[s]}", "command", "false"); /* stands for it, and is never started */
        add_common(asking, ret->id, kept, refused);
        g_clear_error(&why);
        ret->spec = spec_parse(refused, &why);
        return ret->spec || paddleflow_set(error, CODE_JobInvalidField, "%s", why->message);
}

bool job_request_read(const Call *call, JobRoute route, const json_t *body, Asked *ret, GError **error)
{
        Asking asking = { .call = call, .route = route, .body = body };
        bool good;

        *ret = (Asked){ 0 };
        job_request_init(&asking.request);
        asking.wishes = g_array_new(FALSE, TRUE, sizeof(Wish));
        g_array_set_clear_func(asking.wishes, wish_clear);
        asking.lines = g_ptr_array_new_with_free_func(g_free);
        good = check_names(body, error) && check_queue(&asking, error) &&
               take_priority(body, &asking.request.priority, error) && take_parts(&asking, error) &&
               make(&asking, ret, error);
        g_array_unref(asking.wishes);
        g_ptr_array_unref(asking.lines);
        job_request_clear(&asking.request);
        json_decref(asking.implied);
        g_clear_error(&asking.unfit);
        return good;
}
