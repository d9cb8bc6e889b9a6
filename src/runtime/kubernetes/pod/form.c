/* Forms of roles (see form.h). A form is a row: the kind, where a pod says its number, and what is in the
 * object besides the template.
 *
 * Members of one object have one template. What differs between them, some variables, is a file for each in a
 * ConfigMap, and the gate reads it (gate.h). Fields: Kubernetes API reference, apps/v1 StatefulSet, batch/v1
 * Job. */
#include "runtime/kubernetes/pod/form.h"

#include <string.h>

#include "base/number.h"
#include "model/framework.h"
#include "model/job.h"
#include "podspec/objects.h"
#include "runtime/kubernetes/pod/form-rows.h"
#include "runtime/kubernetes/pod/gate.h"
#include "runtime/kubernetes/pod/volcano-objects.h"

static const char index_label[] = "paddle-index";

/* ---- rows ---- */

static json_t *set_spec(const json_t *pod, int n)
{
        static const char *const labels[] = { "paddle-server", "paddle-job-id", "paddle-attempt",
                                              "paddle-role" };
        json_t *selector = json_object();

        for (gsize i = 0; i < G_N_ELEMENTS(labels); i++)
                json_object_set_new(selector, labels[i], json_string(kube_label(pod, labels[i])));
        return json_pack("{s:i, s:s, s:s, s:{s:o}}", "replicas", n, "podManagementPolicy", "Parallel",
                         "serviceName", kube_get_text(pod, "spec.subdomain"), "selector", "matchLabels",
                         selector);
}

/* The platform retries: an index that fails stays failed, and so does a deleted one. */
static json_t *job_spec(const json_t *pod, int n)
{
        return json_pack("{s:i, s:i, s:s, s:i, s:s}", "completions", n, "parallelism", n, "completionMode",
                         "Indexed", "backoffLimitPerIndex", 0, "podReplacementPolicy", "Failed");
}

/* "1,3-5,7" (batch/v1, JobStatus.failedIndexes) names it. */
static bool has_index(const char *indexes, int index)
{
        g_auto(GStrv) parts = g_strsplit(indexes, ",", -1);

        for (char **at = parts; *at; at++) {
                const char *dash = strchr(*at, '-');
                gint64 first = g_ascii_strtoll(*at, NULL, 10);
                gint64 last = dash ? g_ascii_strtoll(dash + 1, NULL, 10) : first;

                if (**at && first <= index && index <= last)
                        return true;
        }
        return false;
}

static bool is_failed_index(const json_t *object, int index)
{
        const char *failed = kube_get_text(object, "status.failedIndexes");

        return failed && has_index(failed, index);
}

/* A deletion is a new generation. The controller reports the generation that it has seen, and makes no pods
 * after it has seen the deletion. A reply without such an object (a Status) means that it is gone. */
static bool is_unseen(const json_t *object)
{
        return kube_is_deleting(object) && kube_get_int(object, "status.observedGeneration", 0) <
                                                   kube_get_int(object, "metadata.generation", 0);
}

static json_t *role_objects(const Form *form, const json_t *pods);

static const Form set_form = { .kind = &kube_stateful_sets,
                               .member_field = "metadata.name",
                               .restarts = true,
                               .names_pods = true,
                               .propagation = "Orphan",
                               .objects = role_objects,
                               .spec = set_spec,
                               .remakes = is_unseen };

static const Form job_form = { .kind = &kube_jobs,
                               .member_field =
                                       "metadata.annotations['batch.kubernetes.io/job-completion-index']",
                               .propagation = "Orphan",
                               .objects = role_objects,
                               .spec = job_spec,
                               .is_over = is_failed_index };

static const Form *const forms[] = { &set_form,         &job_form,     &form_paddle_job,       &form_tf_job,
                                     &form_pytorch_job, &form_mpi_job, &form_spark_application };

const KubeKind *const form_kinds[] = { &kube_stateful_sets,      &kube_jobs,
                                       &kube_paddle_jobs,        &kube_tf_jobs,
                                       &kube_pytorch_jobs,       &kube_mpi_jobs,
                                       &kube_spark_applications, NULL };

static const Form *row_of(const KubeKind *kind)
{
        gsize i = 0;

        while (forms[i]->kind != kind)
                i++;
        return forms[i];
}

const KubeKind *form_kind(const Form *form)
{
        return form->kind;
}

bool form_is_whole(const Form *form)
{
        return form->whole;
}

bool form_kind_is_whole(const KubeKind *kind)
{
        return row_of(kind)->whole;
}

bool form_groups(const Form *form)
{
        return form->groups;
}

const char *form_operator(const Form *form)
{
        return form->operator;
}

const char *form_instead(const Form *form)
{
        return form->instead;
}

bool form_ends_pods(const Form *form)
{
        return form->is_over != NULL;
}

bool form_is_over(const Form *form, const json_t *object, const char *task)
{
        g_auto(GStrv) parts = g_strsplit(task, ".", 4);

        return form->is_over(object, (int)g_ascii_strtoll(parts[3], NULL, 10));
}

const char *form_propagation(const KubeKind *kind)
{
        return row_of(kind)->propagation;
}

bool form_remakes(const KubeKind *kind, const json_t *reply)
{
        bool (*remakes)(const json_t *) = row_of(kind)->remakes;

        return remakes && remakes(reply);
}

bool form_kind_restarts(const KubeKind *kind)
{
        return row_of(kind)->restarts;
}

char *form_object_name(const KubeKind *kind, const char *task)
{
        g_auto(GStrv) parts = g_strsplit(task, ".", 4);

        if (row_of(kind)->whole)
                return g_strdup_printf("j-%s-%s", parts[0], parts[1]);
        return g_strdup_printf("%s-%s-%s", parts[0], parts[1], parts[2]);
}

/* ---- choice ---- */

FormRole form_role(const RuntimeAttempt *attempt, const char *role)
{
        const Spec *spec = attempt->job->spec;
        int r = spec_role_index(spec, role);

        return (FormRole){ .elastic = spec->roles[r].min < spec->roles[r].replicas,
                           .serves = framework_role_end(spec, r) != ENDS_WITH_ALL };
}

static const Form *as_sets(const RuntimeAttempt *attempt, const FormRole *role)
{
        return role->serves ? &set_form : &job_form;
}

/* One object has all members of the job, so a role whose members come and go cannot be in it, nor the other
 * roles. */
static bool is_elastic(const RuntimeAttempt *attempt)
{
        const Spec *spec = attempt->job ? attempt->job->spec : NULL;

        for (int r = 0; spec && r < spec->n_roles; r++)
                if (spec->roles[r].min < spec->roles[r].replicas)
                        return true;
        return false;
}

static const Form *as_paddle_job(const RuntimeAttempt *attempt, const FormRole *role)
{
        bool paddle = attempt->job->spec->framework->name &&
                      g_str_has_prefix(attempt->job->spec->framework->name, "paddle-") &&
                      !is_elastic(attempt);

        return paddle ? &form_paddle_job : as_sets(attempt, role);
}

static const Form *as_pods(const RuntimeAttempt *attempt, const FormRole *role)
{
        return NULL;
}

static const struct {
        const char *name;
        const Form *(*choose)(const RuntimeAttempt *attempt, const FormRole *role);
} preferences[] = { { "sets", as_sets }, { "paddlejob", as_paddle_job }, { "pods", as_pods } };

bool form_is_known(const char *preferred)
{
        for (gsize i = 0; i < G_N_ELEMENTS(preferences); i++)
                if (strcmp(preferences[i].name, preferred) == 0)
                        return true;
        return false;
}

char *form_names(void)
{
        g_autoptr(GString) names = g_string_new(NULL);

        for (gsize i = 0; i < G_N_ELEMENTS(preferences); i++)
                g_string_append_printf(names, "%s%s", i ? ", " : "", preferences[i].name);
        return g_string_free(g_steal_pointer(&names), FALSE);
}

/* ---- operators ---- */

bool form_has_operator(const char *framework)
{
        for (gsize i = 0; i < G_N_ELEMENTS(forms); i++)
                if (g_strcmp0(forms[i]->framework, framework) == 0)
                        return true;
        return false;
}

char *form_operator_names(void)
{
        g_autoptr(GString) names = g_string_new(NULL);

        for (gsize i = 0; i < G_N_ELEMENTS(forms); i++)
                if (forms[i]->framework)
                        g_string_append_printf(names, "%s%s", names->len ? ", " : "", forms[i]->framework);
        return g_string_free(g_steal_pointer(&names), FALSE);
}

const Form *form_of_operator(const FormWish *wish, const RuntimeAttempt *attempt)
{
        const char *const *named = (const char *const *)wish->operators;

        if (!named || !attempt->job || !g_strv_contains(named, attempt->job->spec->framework->name) ||
            is_elastic(attempt))
                return NULL;
        for (gsize i = 0; i < G_N_ELEMENTS(forms); i++)
                if (g_strcmp0(forms[i]->framework, attempt->job->spec->framework->name) == 0)
                        return !forms[i]->suits || forms[i]->suits(attempt) ? forms[i] : NULL;
        return NULL;
}

const Form *form_of(const FormWish *wish, const RuntimeAttempt *attempt, const FormRole *role)
{
        const Form *operated = form_of_operator(wish, attempt);

        if (operated)
                return operated;
        if (attempt->job->spec->framework->single || role->elastic)
                return NULL;
        for (gsize i = 0; wish->preferred && i < G_N_ELEMENTS(preferences); i++)
                if (strcmp(preferences[i].name, wish->preferred) == 0)
                        return preferences[i].choose(attempt, role);
        return as_sets(attempt, role);
}

char *const *form_argv(const Form *form, const RuntimeAttempt *attempt, const char *role,
                       const TaskStart *task)
{
        static char *const none[] = { NULL };
        char *const *said;

        if (!form || !form->framework)
                return task->argv;
        said = spec_user_argv(attempt->job->spec, spec_role_index(attempt->job->spec, role));
        return said ? said : none;
}

/* A variable that the user sets is kept. */
static bool is_told(const Form *form, const Spec *spec, int r, const char *variable)
{
        g_autofree char *name = g_strndup(variable, strcspn(variable, "="));

        return g_strv_contains(form->told, name) && !spec_user_env(spec, r, name);
}

char **form_env(const Form *form, const RuntimeAttempt *attempt, const char *role, const TaskStart *task)
{
        g_autoptr(GStrvBuilder) list = g_strv_builder_new();
        bool operated = form && form->framework;

        for (char *const *at = task->env; *at; at++)
                if (!operated ||
                    !is_told(form, attempt->job->spec, spec_role_index(attempt->job->spec, role), *at))
                        g_strv_builder_add(list, *at);
        if (operated && form->own)
                g_strv_builder_add(list, form->own);
        return g_strv_builder_end(list);
}

/* ---- variables ---- */

static json_t *env_of(const json_t *pod)
{
        return json_object_get(gate_main_of(json_object_get(pod, "spec")), "env");
}

/* Templates of users may have entries without a name: the API server refuses them. */
static const char *name_of(const json_t *entry)
{
        const char *name = kube_get_text(entry, "name");

        return name ? name : "";
}

static const json_t *entry_of(const json_t *pod, const char *name)
{
        const json_t *entry;
        gsize i;

        json_array_foreach(env_of(pod), i, entry) {
                if (strcmp(name_of(entry), name) == 0)
                        return entry;
        }
        return NULL;
}

/* As Kubernetes would have read it: "$$" is a dollar. */
char *form_variable(const json_t *pod, const char *name)
{
        const char *value = kube_get_text(entry_of(pod, name), "value");
        g_auto(GStrv) parts = value ? g_strsplit(value, "$$", -1) : NULL;

        return parts ? g_strjoinv("$", parts) : NULL;
}

/* The names of the variables that all have, and with one value. */
GHashTable *form_common_names(const json_t *pods)
{
        GHashTable *names = g_hash_table_new(g_str_hash, g_str_equal);
        const json_t *first = json_array_get(pods, 0), *entry, *pod;
        gsize i, n;

        json_array_foreach(env_of(first), i, entry) {
                const char *name = name_of(entry);
                bool same = true;

                json_array_foreach(pods, n, pod) {
                        const json_t *other = entry_of(pod, name);

                        same = same && other && json_equal(entry, other);
                }
                if (same)
                        g_hash_table_add(names, (gpointer)name);
        }
        return names;
}

/* The entries of the pod that are among the names, or the others. */
json_t *form_entries(const json_t *pod, GHashTable *names, bool among)
{
        json_t *list = json_array(), *entry;
        gsize i;

        json_array_foreach(env_of(pod), i, entry) {
                if (g_hash_table_contains(names, name_of(entry)) == among)
                        json_array_append(list, entry);
        }
        return list;
}

/* All members have the same variables. */
static bool are_alike(const json_t *pods, GHashTable *common)
{
        const json_t *pod;
        gsize i;

        json_array_foreach(pods, i, pod) {
                if (json_array_size(env_of(pod)) != g_hash_table_size(common))
                        return false;
        }
        return true;
}

static char *variables_name(const json_t *pod)
{
        return g_strdup_printf("%s-%s", kube_get_text(pod, "spec.subdomain"), kube_label(pod, "paddle-role"));
}

static json_t *variables_of(const json_t *pods, const json_t *first, GHashTable *common)
{
        g_autofree char *name = variables_name(first);
        json_t *map = podspec_object(&kube_config_maps, kube_namespace(first), name, NULL);
        json_t *data = json_object();
        const json_t *pod;
        gsize i;

        json_array_foreach(pods, i, pod) {
                g_autofree char *key =
                        g_strdup_printf("%s-%" G_GSIZE_FORMAT, kube_label(pod, "paddle-role"), i);
                g_autoptr(json_t) own = form_entries(pod, common, false);
                g_autofree char *text = gate_variables_format(own);

                json_object_set_new(data, key, json_string(text));
        }
        json_object_set_new(map, "data", data);
        return map;
}

/* ---- objects ---- */

void form_copy_labels(json_t *object, const json_t *pod)
{
        json_t *metadata = json_object_get(object, "metadata");
        json_t *labels = json_deep_copy(kube_get(pod, "metadata.labels")),
               *annotations = kube_get(pod, "metadata.annotations");

        json_object_del(labels, index_label);
        json_object_set_new(metadata, "labels", labels);
        if (annotations)
                json_object_set_new(metadata, "annotations", json_deep_copy(annotations));
}

json_t *form_template(const Form *form, const json_t *pod, int n)
{
        g_autofree char *members = g_strdup_printf("%d", n);
        json_t *made =
                json_pack("{s:{}, s:o}", "metadata", "spec", json_deep_copy(json_object_get(pod, "spec")));
        json_t *spec = json_object_get(made, "spec");

        form_copy_labels(made, pod);
        podspec_label(made, MEMBER_COUNT_LABEL, members);
        if (form->framework)
                podspec_label(made, MEMBER_KIND_LABEL, form->kind->kind);
        json_object_del(spec, "hostname");
        if (form->names_pods)
                json_object_del(spec, "subdomain");
        if (form->restarts)
                json_object_set_new(spec, "restartPolicy", json_string("Always"));
        return made;
}

static json_t *object_of(const Form *form, const json_t *pods, const json_t *first,
                         GHashTable *common /* NULL: without the gate */)
{
        g_autofree char *name =
                g_strndup(kube_name(first), strrchr(kube_name(first), '-') - kube_name(first));
        g_autofree char *variables = variables_name(first);
        int n = (int)json_array_size(pods);
        json_t *object = podspec_object(form->kind, kube_namespace(first), name, NULL);
        json_t *spec = form->spec(first, n), *template = form_template(form, first, n);

        if (common) {
                json_object_set_new(gate_main_of(json_object_get(template, "spec")), "env",
                                    form_entries(first, common, true));
                gate_run(template, variables, kube_label(first, "paddle-role"), form->member_field,
                         form->restarts);
        }
        form_copy_labels(object, first);
        json_object_set_new(spec, "template", template);
        json_object_set_new(object, "spec", spec);
        return object;
}

bool form_is_numbered(const json_t *pods)
{
        const json_t *pod;
        gsize i;

        json_array_foreach(pods, i, pod) {
                gint64 index;

                if (!number_parse(index_label, kube_label(pod, index_label), 0, G_MAXINT, &index, NULL) ||
                    index != (gint64)i)
                        return false;
        }
        return true;
}

static json_t *role_objects(const Form *form, const json_t *pods)
{
        const json_t *first = json_array_get(pods, 0);
        g_autoptr(GHashTable) common = NULL;
        bool gated;
        json_t *objects;

        if (!form_is_numbered(pods))
                return NULL;
        objects = json_array();
        common = form_common_names(pods);
        gated = form->restarts || !are_alike(pods, common);
        if (gated) {
                json_t *variables = variables_of(pods, first, common);

                form_copy_labels(variables, first);
                json_array_append_new(objects, variables);
        }
        json_array_append_new(objects, object_of(form, pods, first, gated ? common : NULL));
        return objects;
}

/* ---- of the job ---- */

json_t *form_pods_of(const json_t *pods, const char *role)
{
        json_t *own = json_array(), *pod;
        gsize i;

        json_array_foreach(pods, i, pod) {
                if (g_strcmp0(kube_label(pod, "paddle-role"), role) == 0)
                        json_array_append(own, pod);
        }
        return own;
}

json_t *form_whole_object(const Form *form, const json_t *pods)
{
        const json_t *first = json_array_get(pods, 0);
        json_t *made = podspec_object(form->kind, kube_namespace(first),
                                      kube_get_text(first, "spec.subdomain"), NULL);

        form_copy_labels(made, first);
        json_object_del(kube_get(made, "metadata.labels"), "paddle-role");
        return made;
}

json_t *form_scheduling_policy(const json_t *pods)
{
        const json_t *first = json_array_get(pods, 0), *pod;
        g_autoptr(PodspecSum) sum = podspec_sum_new();
        gsize i;

        if (g_strcmp0(kube_get_text(first, "spec.schedulerName"), VOLCANO_SCHEDULER) != 0)
                return NULL;
        json_array_foreach(pods, i, pod)
                (void)podspec_sum_add(sum, json_object_get(pod, "spec"), 1,
                                      NULL); /* they are our quantities */
        return json_pack("{s:i, s:o, s:s*, s:s*}", "minAvailable", (int)json_array_size(pods), "minResources",
                         podspec_sum_format(sum), "queue", kube_annotation(first, "volcano.sh/queue-name"),
                         "priorityClass", kube_get_text(first, "spec.priorityClassName"));
}

json_t *form_objects(const Form *form, const json_t *pods)
{
        return form->objects(form, pods);
}

/* ---- pods ---- */

int form_members(const json_t *pod)
{
        const char *text = kube_label(pod, MEMBER_COUNT_LABEL);
        gint64 n;

        return form_kind_of(pod) && text && number_parse(MEMBER_COUNT_LABEL, text, 1, G_MAXINT, &n, NULL)
                       ? (int)n
                       : 0;
}

/* By a label, where its controller need not be the object. */
const KubeKind *form_kind_of(const json_t *pod)
{
        const char *said = kube_label(pod, MEMBER_KIND_LABEL);
        const char *kind = said ? said : kube_get_text(kube_controller(pod), "kind");

        for (const KubeKind *const *at = form_kinds; kind && *at; at++)
                if (strcmp((*at)->kind, kind) == 0)
                        return *at;
        return NULL;
}

bool form_is_passing(const KubeKind *kind, const char *role)
{
        return kind && g_strcmp0(row_of(kind)->passing, role) == 0;
}

/* ---- objects as the server shows them ---- */

FormWord form_says(const KubeKind *kind, const json_t *object, char **ret_text)
{
        *ret_text = NULL;
        return row_of(kind)->says(object, ret_text);
}
