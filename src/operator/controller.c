/* The controller of PaddleJobs (see controller.h): what passes.h leaves to it. Of an elastic job etcd is
 * asked before the pass. */
#include "operator/controller.h"

#include "base/clock.h"
#include "base/log.h"
#include "operator/etcd.h"
#include "operator/passes.h"
#include "operator/reconcile.h"
#include "operator/view.h"

struct Controller {
        OperatorRules rules;
        Etcd *etcd; /* or NULL */
        HostPorts *ports;
        View *view;
        Passes *passes;
};

/* ---- a pass ---- */

static const json_t *find(const KubeKind *kind, const char *namespace, const char *name, void *arg)
{
        const Controller *controller = arg;

        return view_find(controller->view, kind, namespace, name);
}

static void each_job(void (*one)(const json_t *job, void *one_arg), void *one_arg, void *arg)
{
        const Controller *controller = arg;

        view_each_job(controller->view, one, one_arg);
}

/* Reserves the port that a job of Host mode already has, from whatever source. 0: none yet. */
static gint64 note_host_port(Controller *controller, const PaddleJob *job)
{
        const json_t *map = view_find(controller->view, &kube_config_maps, job->namespace, job->name);
        gint64 port = job->intranet == INTRANET_HOST ? member_host_port(job, map) : 0;

        if (port)
                host_ports_note(controller->ports, job->uid, port);
        return port;
}

static Plan *make_plan(Controller *controller, const json_t *job, const char *np)
{
        g_autoptr(GPtrArray) pods = NULL;
        g_autoptr(GPtrArray) services = NULL;
        Observed seen = { .np = np, .now_ms = clock_now_ms() };
        PaddleJob read;

        paddle_job_read(job, &read);
        seen.host_port = note_host_port(controller, &read);
        if (!seen.host_port && read.intranet == INTRANET_HOST && !job_phase_is_final(read.phase))
                seen.host_port = host_ports_reserve(controller->ports, read.uid);
        view_observe(controller->view, job, &seen, &pods, &services);
        return reconcile(&controller->rules, &seen);
}

static void on_np(const char *value, const GError *error, void *arg)
{
        JobState *state = arg;
        Controller *controller = passes_arg(state);
        const json_t *job = passes_job(state);

        if (error && job)
                log_warning("the number of workers could not be read", "job", passes_key(state), "error",
                            error->message, NULL);
        passes_go_on(state, job, job ? make_plan(controller, job, value) : NULL, error != NULL);
}

static bool ask_etcd(Controller *controller, JobState *state, const json_t *job)
{
        g_autofree char *key = NULL;
        PaddleJob read;

        paddle_job_read(job, &read);
        if (!job_syncs_np(&read, &controller->rules))
                return false;
        key = job_np_key(&read);
        etcd_get(controller->etcd, key, on_np, state);
        return true;
}

static WorkResult begin(JobState *state, const json_t *job, void *arg)
{
        Controller *controller = arg;

        if (ask_etcd(controller, state, job))
                return WORK_LATER;
        return passes_act(state, job, make_plan(controller, job, NULL));
}

/* ---- what happens ---- */

static void on_job(const json_t *old, const json_t *new, void *arg)
{
        Controller *controller = arg;

        if (passes_is_gone(old, new))
                host_ports_release(controller->ports, kube_uid(old));
        passes_see_job(controller->passes, old, new);
}

static void on_owned(const char *key, const json_t *old, const json_t *new, void *arg)
{
        Controller *controller = arg;

        passes_see_owned(controller->passes, key, old, new);
}

static void note_port(const json_t *job, void *arg)
{
        PaddleJob read;

        paddle_job_read(job, &read);
        (void)note_host_port(arg, &read);
}

static void on_synced(void *arg)
{
        Controller *controller = arg;

        log_info("the cluster has been seen; jobs are looked after from now on", NULL);
        view_each_job(controller->view, note_port, controller);
        passes_synced(controller->passes);
}

/* ---- the controller ---- */

Controller *controller_new(const ControllerConfig *config, GError **error)
{
        g_autoptr(Controller) controller = g_new0(Controller, 1);
        const char *etcd = config->rules.etcd_server;

        controller->rules = config->rules;
        controller->ports = host_ports_new(config->port_range, error);
        if (!controller->ports)
                return NULL;
        if (etcd && *etcd && !(controller->etcd = etcd_new(etcd, error)))
                return NULL;
        controller->passes = passes_new(&(PassesConfig){ .client = config->client,
                                                         .component = "paddlejob-controller",
                                                         .kind = &kube_paddle_jobs,
                                                         .label = JOB_RESOURCE_NAME,
                                                         .etcd = controller->etcd,
                                                         .find = find,
                                                         .each = each_job,
                                                         .begin = begin,
                                                         .arg = controller });
        controller->view =
                view_new(config->client, config->namespace, config->rules.volcano,
                         &(ViewEvents){
                                 .job = on_job, .owned = on_owned, .synced = on_synced, .arg = controller });
        return g_steal_pointer(&controller);
}

void controller_free(Controller *controller)
{
        if (!controller)
                return;
        etcd_free(controller->etcd); /* first: its answers name states */
        passes_free(controller->passes);
        view_free(controller->view);
        host_ports_free(controller->ports);
        g_free(controller);
}

/* Ports that jobs have already are known before the first is given. */
void controller_lead(Controller *controller)
{
        view_each_job(controller->view, note_port, controller);
        passes_lead(controller->passes);
}

void controller_stop(Controller *controller, void (*done)(void *arg), void *arg)
{
        etcd_stop(controller->etcd);
        passes_stop(controller->passes, done, arg);
}

void controller_figures(const Controller *controller, Figures *ret)
{
        passes_figures(controller->passes, ret);
}
