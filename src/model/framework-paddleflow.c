/* The frameworks by the names that PaddleFlow's clients use (see framework.h): one table for
 * doc/reference/paddleflow-api.md, "Frameworks and roles", with the row that runs each. */
#include <string.h>

#include "base/err.h"
#include "model/framework-rows.h"

#define BIT(role) (1U << (role))

typedef enum {
        RULE_PS_OR_COLLECTIVE, /* with a pserver or master: PS, >= 1 worker; else Collective, >= 2 */
        RULE_DRIVER,           /* at least 1 driver */
        RULE_MASTER_AND_WORKER,
        RULE_ONE_WORKER,
} PaddleFlowRule;

struct PaddleFlowFramework {
        const char *name;
        guint roles; /* BIT()s */
        PaddleFlowRule rule;
        const Framework *ps, *collective; /* their rows (without a mode: the latter); or NULL */
};

enum {
        TRAINING = BIT(PADDLEFLOW_PSERVER) | BIT(PADDLEFLOW_MASTER) | BIT(PADDLEFLOW_WORKER),
        LED = BIT(PADDLEFLOW_MASTER) | BIT(PADDLEFLOW_WORKER),
        SPARK = BIT(PADDLEFLOW_DRIVER) | BIT(PADDLEFLOW_EXECUTOR),
};

static const PaddleFlowFramework flows[] = {
        { "paddle", TRAINING, RULE_PS_OR_COLLECTIVE, &framework_paddle_ps, &framework_paddle_collective },
        { "tensorflow", TRAINING, RULE_PS_OR_COLLECTIVE, &framework_tensorflow, &framework_tensorflow },
        { "pytorch", TRAINING, RULE_PS_OR_COLLECTIVE, &framework_pytorch, &framework_pytorch },
        { "mxnet", TRAINING, RULE_PS_OR_COLLECTIVE, NULL, NULL },
        { "aitj", TRAINING, RULE_PS_OR_COLLECTIVE, NULL, NULL },
        { "spark", SPARK, RULE_DRIVER, NULL, &framework_spark },
        { "mpi", LED, RULE_MASTER_AND_WORKER, NULL, &framework_mpi },
        { "ray", LED, RULE_MASTER_AND_WORKER, NULL, NULL },
        { "standalone", BIT(PADDLEFLOW_WORKER), RULE_ONE_WORKER, NULL, &framework_plain },
};

static const char *const role_names[PADDLEFLOW_ROLES] = {
        [PADDLEFLOW_PSERVER] = "pserver", [PADDLEFLOW_MASTER] = "master",     [PADDLEFLOW_WORKER] = "worker",
        [PADDLEFLOW_DRIVER] = "driver",   [PADDLEFLOW_EXECUTOR] = "executor",
};

const PaddleFlowFramework *paddleflow_framework_find(const char *name)
{
        for (gsize i = 0; i < G_N_ELEMENTS(flows); i++)
                if (strcmp(flows[i].name, name) == 0)
                        return &flows[i];
        return NULL;
}

char *paddleflow_framework_names(void)
{
        g_autoptr(GString) names = g_string_new(NULL);

        for (gsize i = 0; i < G_N_ELEMENTS(flows); i++)
                g_string_append_printf(names, "%s%s", names->len ? ", " : "", flows[i].name);
        return g_string_free(g_steal_pointer(&names), FALSE);
}

char *paddleflow_framework_distributed(void)
{
        g_autoptr(GString) names = g_string_new(NULL);

        for (gsize i = 0; i < G_N_ELEMENTS(flows); i++)
                if (flows[i].collective && flows[i].rule != RULE_ONE_WORKER)
                        g_string_append_printf(names, "%s%s", names->len ? ", " : "", flows[i].name);
        return g_string_free(g_steal_pointer(&names), FALSE);
}

const char *paddleflow_framework_name(const PaddleFlowFramework *framework)
{
        return framework->name;
}

const char *paddleflow_role_name(PaddleFlowRole role)
{
        return role_names[role];
}

static char *allowed_roles(const PaddleFlowFramework *framework)
{
        g_autoptr(GString) names = g_string_new(NULL);

        for (int role = 0; role < PADDLEFLOW_ROLES; role++)
                if (framework->roles & BIT(role))
                        g_string_append_printf(names, "%s%s", names->len ? ", " : "", role_names[role]);
        return g_string_free(g_steal_pointer(&names), FALSE);
}

bool paddleflow_role_parse(const PaddleFlowFramework *framework, const char *word, PaddleFlowRole *ret,
                           GError **error)
{
        const char *name = strcmp(word, "pworker") == 0 ? "worker" : word;
        g_autofree char *allowed = NULL;

        for (int role = 0; role < PADDLEFLOW_ROLES; role++) {
                if (!(framework->roles & BIT(role)) || strcmp(role_names[role], name) != 0)
                        continue;
                *ret = (PaddleFlowRole)role;
                return true;
        }
        allowed = allowed_roles(framework);
        return err_set(error, ERR_INVALID, "role: '%.64s' is not a role of %s, which has %s", word,
                       framework->name, allowed);
}

/* ---- counts ---- */

static bool needs(const PaddleFlowFramework *framework, const int *counts, PaddleFlowRole role, int least,
                  const char *when, GError **error)
{
        if (counts[role] >= least)
                return true;
        return err_set(error, ERR_INVALID, "members: %s%s needs at least %d %s, not %d", framework->name,
                       when, least, role_names[role], counts[role]);
}

static const char *mode_of(const PaddleFlowFramework *framework, const int *counts)
{
        if (framework->rule != RULE_PS_OR_COLLECTIVE)
                return "";
        return counts[PADDLEFLOW_PSERVER] > 0 || counts[PADDLEFLOW_MASTER] > 0 ? "PS" : "Collective";
}

static bool check_rule(const PaddleFlowFramework *framework, const int *counts, GError **error)
{
        bool ps = strcmp(mode_of(framework, counts), "PS") == 0;

        switch (framework->rule) {
        case RULE_PS_OR_COLLECTIVE:
                return needs(framework, counts, PADDLEFLOW_WORKER, ps ? 1 : 2,
                             ps ? " in PS mode" : " in Collective mode", error);
        case RULE_DRIVER: return needs(framework, counts, PADDLEFLOW_DRIVER, 1, "", error);
        case RULE_MASTER_AND_WORKER:
                return needs(framework, counts, PADDLEFLOW_MASTER, 1, "", error) &&
                       needs(framework, counts, PADDLEFLOW_WORKER, 1, "", error);
        case RULE_ONE_WORKER: break;
        }
        if (counts[PADDLEFLOW_WORKER] == 1)
                return true;
        return err_set(error, ERR_INVALID, "members: %s has exactly 1 worker, not %d", framework->name,
                       counts[PADDLEFLOW_WORKER]);
}

bool paddleflow_counts_check(const PaddleFlowFramework *framework, const int counts[PADDLEFLOW_ROLES],
                             const char **ret_mode, GError **error)
{
        if (!check_rule(framework, counts, error))
                return false;
        *ret_mode = mode_of(framework, counts);
        return true;
}

const char *framework_mode(const Spec *spec)
{
        const PaddleFlowFramework *flow = paddleflow_framework_find(spec->framework->paddleflow_name);
        int counts[PADDLEFLOW_ROLES] = { [PADDLEFLOW_PSERVER] = spec_replicas(spec, "pserver"),
                                         [PADDLEFLOW_MASTER] = spec_replicas(spec, "master") };
        const char *mode = mode_of(flow, counts);

        return *mode ? mode : NULL;
}

/* ---- the rows ---- */

static char *flows_with_a_row(void)
{
        g_autoptr(GString) names = g_string_new(NULL);

        for (gsize i = 0; i < G_N_ELEMENTS(flows); i++)
                if (flows[i].collective)
                        g_string_append_printf(names, "%s%s", names->len ? ", " : "", flows[i].name);
        return g_string_free(g_steal_pointer(&names), FALSE);
}

const Framework *paddleflow_framework_row(const PaddleFlowFramework *framework,
                                          const int counts[PADDLEFLOW_ROLES], GError **error)
{
        bool ps = strcmp(mode_of(framework, counts), "PS") == 0;
        const Framework *row = ps ? framework->ps : framework->collective;
        g_autofree char *known = NULL;

        if (!row) {
                known = flows_with_a_row();
                err_set(error, ERR_INVALID, "framework: jobs of '%s' cannot run here\nJobs of %s can.",
                        framework->name, known);
                return NULL;
        }
        for (int role = 0; role < PADDLEFLOW_ROLES; role++) {
                if (counts[role] == 0 || framework_role(row, role_names[role]))
                        continue;
                err_set(error, ERR_INVALID, "framework: a job of '%s' cannot have the role '%s' here",
                        framework->name, role_names[role]);
                return NULL;
        }
        return row;
}
