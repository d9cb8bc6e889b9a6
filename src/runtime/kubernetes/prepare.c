/* The preparation of a job: whether it can run here, its image or package, and its objects. Mostly on the
 * engine's thread. */
#include "runtime/kubernetes/internal.h"

#include <string.h>

#include "model/framework.h"
#include "model/job.h"
#include "package/package.h"
#include "runtime/environment/environment.h"
#include "runtime/kubernetes/homes.h"
#include "runtime/kubernetes/image/image.h"
#include "runtime/kubernetes/image/package.h"
#include "runtime/kubernetes/pod/confinement.h"
#include "runtime/kubernetes/pod/gate.h"
#include "runtime/kubernetes/pod/mounts.h"
#include "runtime/kubernetes/pod/pod-secrets.h"
#include "runtime/kubernetes/pod/policy.h"
#include "runtime/kubernetes/pod/volcano-objects.h"

enum { RECIPES_MAX = 10000 };

/* ---- its pods ---- */

/* Jobs that request no namespace use the kubeconfig's. */
MemberHome k8s_home(const Kubernetes *k8s, const RuntimeAttempt *attempt)
{
        return (MemberHome){ attempt->namespace ? attempt->namespace : k8s->namespaces[0], k8s->server,
                             k8s->setting->image };
}

/* The member can never start; `text` says why. */
static void run_never(Order *order)
{
        Task *task = task_get(order->k8s, order->name);
        Observation *end = observation_new(OBSERVED_START_FAILED, task->task, order->text);

        end->permanent = true;
        task_never_starts(task, end);
}

static void start_never(Kubernetes *k8s, const char *task, char *why /* taken */)
{
        order_give(k8s, &(Order){ .run = run_never, .name = g_strdup(task), .text = why });
}

/* True if its members start processes in each other, which needs a common secret. */
static bool has_secret(const Form *form, const RuntimeAttempt *attempt)
{
        return attempt->job->spec->framework->secret && !(form && form_is_whole(form));
}

/* The objects that are created before the attempt's pods: the service that gives them names, the secret
 * that they share, the job's secrets, and the secret to pull its image. */
static json_t *before_pods(const Kubernetes *k8s, const MemberHome *home, const RuntimeAttempt *attempt,
                           const TaskStart *task, bool secret, json_t *package)
{
        json_t *list = json_pack("[o]", member_service(home, attempt->job->id, attempt->job->attempt));

        if (attempt->job->spec->network_none || k8s->setting->egress)
                json_array_append_new(list, policy_of_attempt(home, attempt->job->id, attempt->job->attempt,
                                                              attempt->job->spec->network_none
                                                                      ? NULL
                                                                      : k8s->setting->egress));
        if (secret)
                json_array_append_new(list, member_secret(home, attempt->job->id, attempt->job->attempt));
        if (task->n_secrets > 0)
                json_array_append_new(list,
                                      pod_secrets_object(home, attempt, task->secrets, task->n_secrets));
        if (package) {
                json_array_append_new(list, package_gate(home));
                json_array_append(list, package);
        } else if (images_is_needed(attempt) && k8s->pull_secret) {
                json_array_append_new(list, image_pull_secret(&k8s->setting->registry, home->namespace));
        }
        return list;
}

/* Without a registry no image is built: the package is put into the pods, and the job's own image must
 * have its requirements. */
static bool goes_by_itself(const Kubernetes *k8s)
{
        return !k8s->setting->registry.address;
}

/* What was prepared for a job: the same for all its members. */
typedef struct {
        char *image;     /* that was built for it; or NULL */
        json_t *package; /* the ConfigMap with its package; or NULL */
} Prepared;

static void prepared_clear(Prepared *prepared)
{
        g_clear_pointer(&prepared->image, g_free);
        g_clear_pointer(&prepared->package, json_decref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Prepared, prepared_clear)

/* Reads it from the server's files. False: it does not exist any more. */
static bool find_prepared(const Kubernetes *k8s, const MemberHome *home, const RuntimeAttempt *attempt,
                          Prepared *ret)
{
        *ret = (Prepared){ 0 };
        if (!images_is_needed(attempt))
                return true;
        if (!goes_by_itself(k8s)) {
                ret->image = images_of_job(k8s->state_dir, attempt->job->id);
                return ret->image != NULL;
        }
        if (!attempt->job->spec->package)
                return true;
        ret->package = package_map(k8s->state_dir, home, attempt, NULL);
        return ret->package != NULL;
}

/* Adds it to the pod of a member. */
static void equip(const Kubernetes *k8s, const RuntimeAttempt *attempt, const Prepared *prepared,
                  json_t *pod_spec)
{
        const Spec *spec = attempt->job->spec;

        if (prepared->image)
                image_put(pod_spec, MEMBER_CONTAINER, prepared->image, spec->package || spec->setup,
                          k8s->pull_secret);
        else if (goes_by_itself(k8s) && environment_is_needed(spec->requirements))
                package_require(pod_spec, spec->requirements);
        if (prepared->package)
                package_put(pod_spec, attempt);
}

/* Those priority classes of jobs that the cluster has. */
typedef struct {
        const char *list[G_N_ELEMENTS(template_classes)];
} Classes;

static Classes classes_of(Kubernetes *k8s)
{
        Classes classes;

        g_mutex_lock(&k8s->lock);
        memcpy(classes.list, k8s->classes, sizeof classes.list);
        g_mutex_unlock(&k8s->lock);
        return classes;
}

/* The labels and annotations of a pod that clients of PaddleFlow and Volcano read. */
static void fill_pod(Kubernetes *k8s, const RuntimeAttempt *attempt, const char *role, json_t *pod)
{
        const Classes classes = classes_of(k8s);
        TemplateCluster cluster = k8s->template;

        cluster.classes = classes.list;
        template_fill(&cluster, attempt, role, pod);
        if (cluster.scheduler)
                volcano_join(pod, attempt, role);
}

/* The attempt's group, which Volcano schedules as a gang; NULL: there is none, or an operator creates it. */
static json_t *group_of(Kubernetes *k8s, const MemberHome *home, const RuntimeAttempt *attempt,
                        const Form *form)
{
        const Classes classes = classes_of(k8s);
        const char *class = template_class(attempt->job->priority);

        if (!k8s->template.scheduler || (form && form_groups(form)))
                return NULL;
        return volcano_group(home, attempt, g_strv_contains(classes.list, class) ? class : NULL);
}

/* Pods keep their priority class. Volcano uses the class of the group (doc/reference/scheduling.md,
 * "Priority classes"). */
bool k8s_takes_priority(Runtime *runtime, const RuntimeAttempt *attempt)
{
        const Kubernetes *k8s = (Kubernetes *)runtime;
        const Form *form = form_of_operator(&k8s->forms, attempt);

        return k8s->template.scheduler && !(form && form_groups(form));
}

static void run_reprioritize(Order *order)
{
        if (order->k8s->volcano)
                volcano_want_group(order->k8s->volcano, g_steal_pointer(&order->group));
}

void k8s_reprioritize(Runtime *runtime, const RuntimeAttempt *attempt)
{
        Kubernetes *k8s = (Kubernetes *)runtime;
        const MemberHome home = k8s_home(k8s, attempt);
        json_t *group = group_of(k8s, &home, attempt, form_of_operator(&k8s->forms, attempt));

        if (group)
                order_give(k8s, &(Order){ .run = run_reprioritize, .group = group });
}

static void lend_gate(json_t *pod, const RuntimeAttempt *attempt)
{
        g_autofree char *secret = member_service_name(attempt->job->id, attempt->job->attempt);

        gate_lend(pod, secret);
}

bool k8s_orders(Runtime *runtime, const RuntimeAttempt *attempt)
{
        const Form *form = form_of_operator(&((Kubernetes *)runtime)->forms, attempt);

        return form && form_is_whole(form);
}

/* An administrator may allow more, as for members on this machine. */
static void confine(const Kubernetes *k8s, const RuntimeAttempt *attempt, json_t *spec)
{
        const char *const *lifted = (const char *const *)k8s->setting->new_privileges;

        confine_pod(spec, &(Confinement){ .lifted = lifted && attempt->job->user &&
                                                    g_strv_contains(lifted, attempt->job->user),
                                          .non_root = k8s->setting->non_root,
                                          .files = volume_has_home(&k8s->volumes) });
}

/* Members that start together and have one form: those of a role, or of all roles if one object is the
 * whole job. */
typedef struct {
        const RuntimeAttempt *attempt;
        MemberHome home;
        const Form *form; /* or NULL */
        const TaskStart *members;
        int n;
} Group;

/* True if these are all present members of the role (or the job), so that one object can create them. */
static bool is_complete(const Group *group)
{
        g_autofree char *role = member_role(group->members[0].task);
        const Job *job = group->attempt->job;

        return group->form && group->n == job_count_present(job, form_is_whole(group->form)
                                                                         ? -1
                                                                         : spec_role_index(job->spec, role));
}

/* The member's pod as a plain pod; NULL: it can never start, and *problem says why. */
static json_t *pod_of(Kubernetes *k8s, const Group *group, const TaskStart *task, const Prepared *prepared,
                      char **problem)
{
        const RuntimeAttempt *attempt = group->attempt;
        TaskStart own = *task;
        g_autofree char *role = member_role(task->task);
        g_auto(GStrv) env = form_env(group->form, attempt, role, task);
        json_t *pod, *spec;

        *problem = member_too_long(env);
        if (!*problem)
                *problem = pod_mounts_problem(&k8s->volumes, attempt->job->user, group->home.namespace,
                                              task->mounts, task->n_mounts);
        if (*problem)
                return NULL;
        own.argv = form_argv(group->form, attempt, role, task);
        own.env = env;
        pod = member_pod(&group->home, attempt, &own);
        spec = json_object_get(pod, "spec");
        volume_put(&k8s->volumes, attempt, spec, MEMBER_CONTAINER);
        equip(k8s, attempt, prepared, spec);
        fill_pod(k8s, attempt, role, pod);
        if (!group->form || !form_is_whole(group->form))
                gate_wait(pod, task->wait_for);
        if (has_secret(group->form, attempt))
                lend_gate(pod, attempt);
        if (task->tty)
                gate_terminal(pod, task->hangup_ms);
        confine(k8s, attempt, spec);
        pod_secrets_put(pod, attempt, task->secrets, task->n_secrets);
        pod_mounts_put(&k8s->volumes, attempt->job->user, task->mounts, task->n_mounts, spec);
        return pod;
}

/* None of them can start. */
static void start_none(Kubernetes *k8s, const Group *group, const char *why)
{
        for (int i = 0; i < group->n; i++)
                start_never(k8s, group->members[i].task, g_strdup(why));
}

/* The pods of all members, in order; NULL: none of them can start, and the engine was told. */
static json_t *pods_of(Kubernetes *k8s, const Group *group, const Prepared *prepared)
{
        g_autoptr(json_t) pods = json_array();

        for (int i = 0; i < group->n; i++) {
                g_autofree char *problem = NULL;
                json_t *pod = pod_of(k8s, group, &group->members[i], prepared, &problem);

                if (!pod) {
                        start_none(k8s, group, problem);
                        return NULL;
                }
                json_array_append_new(pods, pod);
        }
        return g_steal_pointer(&pods);
}

/* Members `first` to `first + n - 1` of the group, by `objects`, which are taken. */
static void give_start(Kubernetes *k8s, const Group *group, int first, int n, void (*run)(Order *order),
                       json_t *objects)
{
        const RuntimeAttempt *attempt = group->attempt;

        order_give(k8s, &(Order){ .run = run,
                                  .tasks = order_tasks(&group->members[first].task, sizeof(TaskStart), n),
                                  .namespace = g_strdup(group->home.namespace),
                                  .job_id = g_strdup(attempt->job->id),
                                  .number = attempt->job->attempt,
                                  .form = group->form,
                                  .objects = json_format(objects),
                                  .group = group_of(k8s, &group->home, attempt, group->form) });
        json_decref(objects);
}

static void start_group(Kubernetes *k8s, const Group *group)
{
        g_autoptr(json_t) pods = NULL, before = NULL, own = NULL;
        g_auto(Prepared) prepared = { 0 };
        json_t *pod;
        size_t i;

        if (!find_prepared(k8s, &group->home, group->attempt, &prepared)) {
                start_none(k8s, group,
                           "the files that were prepared for the job do not exist any more\n"
                           "Submit the job again.");
                return;
        }
        pods = pods_of(k8s, group, &prepared);
        if (!pods)
                return;
        before = before_pods(k8s, &group->home, group->attempt, &group->members[0],
                             has_secret(group->form, group->attempt), prepared.package);
        if (is_complete(group)) {
                own = form_objects(group->form, pods);
                json_array_extend(before,
                                  own ? own : pods); /* with a gap in their numbers they are plain pods */
                give_start(k8s, group, 0, group->n, order_start_set, json_incref(before));
                return;
        }
        json_array_foreach(pods, i, pod) {
                json_t *objects = json_copy(before);

                json_array_append(objects, pod);
                give_start(k8s, group, (int)i, 1, order_start_pod, objects);
        }
}

/* The group that begins with the first member. */
static Group first_group(const Kubernetes *k8s, const RuntimeAttempt *attempt, const TaskStart *members,
                         int n)
{
        g_autofree char *role = member_role(members[0].task);
        FormRole about = form_role(attempt, role);
        Group group = { attempt, k8s_home(k8s, attempt), form_of(&k8s->forms, attempt, &about), members, 1 };
        bool whole = group.form && form_is_whole(group.form);

        while (group.n < n) {
                g_autofree char *other = member_role(members[group.n].task);

                if (!whole && strcmp(other, role) != 0)
                        break;
                group.n++;
        }
        return group;
}

void k8s_start(Runtime *runtime, const RuntimeAttempt *attempt, const TaskStart *members, int n)
{
        Kubernetes *k8s = (Kubernetes *)runtime;

        while (n > 0) {
                Group group = first_group(k8s, attempt, members, n);

                start_group(k8s, &group);
                members += group.n;
                n -= group.n;
        }
}

/* ---- what a job needs ---- */

static char *problem_of_files(const Kubernetes *k8s, const RuntimeAttempt *attempt)
{
        char *problem = volume_problem(&k8s->volumes, attempt);

        if (problem || !volume_has_home(&k8s->volumes))
                return problem;
        return homes_problem(k8s->state_dir, attempt->job->user, attempt->user_seq);
}

/* A setup command runs while an image is built. */
char *k8s_setup_problem(Runtime *runtime)
{
        const Kubernetes *k8s = (const Kubernetes *)runtime;

        if (!goes_by_itself(k8s))
                return NULL;
        return g_strdup_printf(
                "cluster '%s' cannot run a setup command, because it has no registry for the "
                "images of jobs\nRun it in the job's own command, or ask an administrator for a "
                "`registry` in the cluster's setting.",
                k8s->name);
}

char *k8s_mount_problem(Runtime *runtime, const char *user, const TaskMount *mounts, int n)
{
        return pod_mounts_problem(&((const Kubernetes *)runtime)->volumes, user, NULL, mounts, n);
}

/* Why the job cannot run here; the caller's; NULL: it can. */
static char *problem_of(const Kubernetes *k8s, const RuntimeAttempt *attempt)
{
        const char *const *allowed = (const char *const *)k8s->namespaces;

        if (!attempt->job->spec->image && !k8s->setting->image)
                return g_strdup_printf("cluster '%s' runs members in images, and the job names none\n"
                                       "Name one with --base-image, or one for all in the cluster's setting.",
                                       k8s->name);
        if (attempt->job->spec->network_none && !k8s->setting->network_policies)
                return g_strdup_printf(
                        "network: none: cluster '%s' does not say that it enforces NetworkPolicies\n"
                        "Leave it out, or ask an administrator for `network_policies` in the cluster's "
                        "setting.",
                        k8s->name);
        if (k8s->template.k3s && spec_members(attempt->job->spec) != 1)
                return g_strdup_printf("cluster '%s' is of type K3S, which runs single pods: a job has one "
                                       "member there",
                                       k8s->name);
        if (attempt->namespace && !k8s->any_namespace && !g_strv_contains(allowed, attempt->namespace)) {
                g_autofree char *words = g_strjoinv(", ", k8s->namespaces);

                return g_strdup_printf("namespace '%s' is not one of cluster '%s', which has %s",
                                       attempt->namespace, k8s->name, words);
        }
        if (attempt->job->spec->setup && goes_by_itself(k8s))
                return k8s_setup_problem((Runtime *)k8s);
        return problem_of_files(k8s, attempt);
}

static ImageWish image_of(const Kubernetes *k8s, const RuntimeAttempt *attempt)
{
        const Spec *spec = attempt->job->spec;

        return (ImageWish){ .job_id = attempt->job->id,
                            .user = attempt->job->user,
                            .builder = attempt->builder,
                            .image = spec->image ? spec->image : k8s->setting->image,
                            .package = spec->package,
                            .package_name = spec->package_name,
                            .requirements = spec->requirements,
                            .setup = spec->setup };
}

/* A build runs pip, with code of packages, or a setup command. Without both the image only gets files, and
 * its resources are not counted. */
static bool is_counted(const Kubernetes *k8s, const ImageWish *wish)
{
        return !goes_by_itself(k8s) && (wish->setup || environment_is_needed(wish->requirements));
}

static bool prepare_wants(Runtime *runtime, const RuntimeAttempt *attempt, Resources *ret_wants)
{
        Kubernetes *k8s = (Kubernetes *)runtime;
        ImageWish wish = image_of(k8s, attempt);

        if (!is_counted(k8s, &wish))
                return false;
        g_mutex_lock(&k8s->lock);
        *ret_wants = k8s->builder;
        g_mutex_unlock(&k8s->lock);
        return !resources_is_zero(ret_wants);
}

static const char *text_or_none(const char *text)
{
        return text ? text : "";
}

/* The parts that decide its image, as far as they are known without a request to a registry; the caller's. */
static char *recipe_of(const ImageWish *wish)
{
        g_autofree char *text = g_strjoin("\n", text_or_none(wish->image), text_or_none(wish->package),
                                          text_or_none(wish->package_name), text_or_none(wish->setup),
                                          wish->requirements, NULL);
        char hash[HASH_LEN + 1];

        hash_bytes(text, strlen(text), hash);
        return g_strdup(hash);
}

static bool was_prepared(Runtime *runtime, const RuntimeAttempt *attempt)
{
        Kubernetes *k8s = (Kubernetes *)runtime;
        ImageWish wish = image_of(k8s, attempt);
        g_autofree char *recipe = is_counted(k8s, &wish) ? recipe_of(&wish) : NULL;
        bool known;

        if (!recipe)
                return false;
        g_mutex_lock(&k8s->lock);
        known = g_hash_table_contains(k8s->recipes, recipe);
        g_mutex_unlock(&k8s->lock);
        return known;
}

void k8s_note_recipe(Kubernetes *k8s, const ImageWish *of)
{
        if (!is_counted(k8s, of))
                return;
        g_mutex_lock(&k8s->lock);
        if (g_hash_table_size(k8s->recipes) >= RECIPES_MAX)
                g_hash_table_remove_all(k8s->recipes);
        g_hash_table_add(k8s->recipes, recipe_of(of));
        g_mutex_unlock(&k8s->lock);
}

static bool is_prepared(Runtime *runtime, const RuntimeAttempt *attempt)
{
        Kubernetes *k8s = (Kubernetes *)runtime;
        g_autofree char *problem = problem_of(k8s, attempt);
        bool packed = goes_by_itself(k8s) && (!attempt->job->spec->package ||
                                              package_is_packed(k8s->state_dir, attempt->job->spec->package));

        return !problem && (packed || !images_is_needed(attempt));
}

static void run_prepare(Order *order)
{
        Kubernetes *k8s = order->k8s;

        if (!k8s->images) {
                packings_want(k8s->packings, order->package, order->name);
                return;
        }
        images_want(k8s->images, &(ImageWish){ .job_id = order->name,
                                               .user = order->user,
                                               .builder = order->builder,
                                               .image = order->image,
                                               .package = order->package,
                                               .package_name = order->package_name,
                                               .requirements = order->requirements,
                                               .setup = order->setup });
}

void k8s_tell_prepared(Kubernetes *k8s, const char *job_id, const char *problem)
{
        Observation *observation =
                observation_new(problem ? OBSERVED_PREPARE_FAILED : OBSERVED_PREPARED, job_id, problem);

        observation->preparation = PREPARE_IMAGE;
        k8s->observe(observation, k8s->observe_arg);
}

static void prepare(Runtime *runtime, const RuntimeAttempt *attempt)
{
        Kubernetes *k8s = (Kubernetes *)runtime;
        g_autofree char *problem = problem_of(k8s, attempt);
        ImageWish wish;

        if (problem || !images_is_needed(attempt) || (goes_by_itself(k8s) && !attempt->job->spec->package)) {
                k8s_tell_prepared(k8s, attempt->job->id, problem);
                return;
        }
        wish = image_of(k8s, attempt);
        order_give(k8s, &(Order){ .run = run_prepare,
                                  .name = g_strdup(wish.job_id),
                                  .user = g_strdup(wish.user),
                                  .builder = wish.builder,
                                  .image = g_strdup(wish.image),
                                  .package = g_strdup(wish.package),
                                  .package_name = g_strdup(wish.package_name),
                                  .requirements = g_strdup(wish.requirements),
                                  .setup = g_strdup(wish.setup) });
}

static void run_abandon(Order *order)
{
        if (order->k8s->images)
                images_abandon(order->k8s->images, order->name);
}

static void abandon(Runtime *runtime, const char *job_id)
{
        order_give((Kubernetes *)runtime, &(Order){ .run = run_abandon, .name = g_strdup(job_id) });
}

const RuntimePreparation k8s_image_preparation = {
        .prepare = prepare,
        .is_prepared = is_prepared,
        .wants = prepare_wants,
        .was_prepared = was_prepared,
        .abandon = abandon,
};
