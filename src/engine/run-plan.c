/* A compiled definition with what its request says, and those of the live runs for readers (see run-plan.h, runs.h). */
#include "engine/run-plan.h"

#include <string.h>

#include "base/err.h"
#include "base/keyed-hash.h"
#include "engine/runs.h"
#include "pipeline/render.h"

static void add_filesystem(RunPlan *plan, GHashTable *seen, const StepMount *mount)
{
        const char *name = definition_text(plan->definition, mount->name);

        if (mount->name && g_hash_table_add(seen, (char *)name))
                g_ptr_array_add(plan->filesystems, (char *)name);
}

static void find_filesystems(RunPlan *plan)
{
        const Definition *definition = plan->definition;
        g_autoptr(GHashTable) seen = g_hash_table_new(keyed_hash, g_str_equal);

        add_filesystem(plan, seen, &definition->main_fs);
        for (guint32 k = 0; k < definition->n_extra_mounts; k++)
                add_filesystem(plan, seen, &definition->mounts[definition->extra_mounts + k]);
        for (guint32 i = 0; i < definition->n_components; i++)
                for (guint32 k = 0; k < component_extra(definition, i)->n_mounts; k++)
                        add_filesystem(plan, seen,
                                       &definition->mounts[component_extra(definition, i)->mounts + k]);
}

static void add_package(RunPlan *plan, GHashTable *seen, const char *hash)
{
        if (hash && *hash && g_hash_table_add(seen, (gpointer)hash))
                g_ptr_array_add(plan->packages, (gpointer)hash);
}

static void find_packages(RunPlan *plan)
{
        const Definition *definition = plan->definition;
        g_autoptr(GHashTable) seen = g_hash_table_new(keyed_hash, g_str_equal);

        add_package(plan, seen, plan->package);
        for (guint32 i = DEFINITION_FIRST; i < definition->n_components; i++)
                add_package(plan, seen, definition_text(definition, component_extra(definition, i)->package));
}

static bool has_outputs(const Definition *definition)
{
        guint32 end = definition->components[definition->n_components].variables;

        for (guint32 k = 0; k < end; k++)
                if (definition->variables[k].role == ROLE_OUTPUT)
                        return true;
        return false;
}

static bool has_cache(const Definition *definition)
{
        if (definition->cache.enable == CACHE_ON)
                return true;
        for (guint32 i = 0; i < definition->n_components; i++)
                if (component_extra(definition, i)->cache.enable == CACHE_ON)
                        return true;
        return false;
}

/* ERR_CONFLICT: the definition may be right, but the request contradicts it. */
static bool refuse_problems(const Problems *problems, GError **error)
{
        const Problem *first = problems_first(problems);
        g_autofree char *text = problem_format(first);
        const char *hint = problem_hint(first);

        return err_set(error, first->class == PE_ARGUMENTS ? ERR_CONFLICT : ERR_INVALID, "%s%s%s", text,
                       hint ? "\n" : "", hint ? hint : "");
}

RunPlan *run_plan_new(const Engine *engine, const char *text, const json_t *request, GError **error)
{
        g_auto(Problems) problems = { 0 };
        DefinitionRequest wanted;
        Definition *definition;
        RunPlan *plan;

        problems_init(&problems);
        definition_request_read(request, &wanted);
        wanted.parallelism_max = engine->config.max_parallelism;
        definition = definition_parse(text, strlen(text), &wanted, &problems);
        if (!definition) {
                (void)refuse_problems(&problems, error);
                return NULL;
        }
        plan = g_new0(RunPlan, 1);
        g_atomic_ref_count_init(&plan->refs);
        plan->definition = definition;
        plan->lists = render_lists(definition);
        plan->text = strlen(text);
        plan->memory = definition->size + render_lists_size(definition);
        plan->filesystems = g_ptr_array_new();
        find_filesystems(plan);
        plan->artifacts = has_outputs(definition);
        plan->caches = has_cache(definition);
        plan->queue = g_strdup(json_string_value(json_object_get(request, "queue")));
        plan->other_queue = g_strdup(json_string_value(json_object_get(request, "queue_default")));
        plan->package = g_strdup(json_string_value(json_object_get(request, "package")));
        plan->packages = g_ptr_array_new();
        find_packages(plan);
        plan->package_name = g_strdup(json_string_value(json_object_get(request, "package_name")));
        plan->requirements = g_strdup(json_string_value(json_object_get(request, "requirements")));
        return plan;
}

/* Of a step that names the package. */
static char *user_of_package(const Definition *definition, const char *hash)
{
        for (guint32 i = DEFINITION_FIRST; i < definition->n_components; i++)
                if (definition_text(definition, component_extra(definition, i)->package) == hash)
                        return component_path(definition, i);
        g_assert_not_reached();
}

static bool refuse_package(const RunPlan *plan, const char *hash, GError **error)
{
        g_autofree char *step = user_of_package(plan->definition, hash), *shown = err_shown(hash);

        return err_set(error, ERR_NOT_FOUND,
                       "%s.package: '%.80s' is not on this server\nSend it to /v1/packages first.", step,
                       shown);
}

bool run_plan_use_packages(const Engine *engine, const RunPlan *plan, const char *user, GError **error)
{
        const EngineConfig *config = &engine->config;

        for (guint i = 0; config->use_package && i < plan->packages->len; i++) {
                const char *hash = plan->packages->pdata[i];

                if (hash != plan->package && !config->use_package(user, hash, config->use_package_arg))
                        return refuse_package(plan, hash, error);
        }
        return true;
}

RunPlan *run_plan_ref(RunPlan *plan)
{
        g_atomic_ref_count_inc(&plan->refs);
        return plan;
}

void run_plan_unref(RunPlan *plan)
{
        if (!g_atomic_ref_count_dec(&plan->refs))
                return;
        g_hash_table_unref(plan->lists);
        g_ptr_array_unref(plan->filesystems);
        g_ptr_array_unref(plan->packages);
        definition_free(plan->definition);
        g_free(plan->queue);
        g_free(plan->other_queue);
        g_free(plan->package);
        g_free(plan->package_name);
        g_free(plan->requirements);
        g_free(plan);
}

/* ---- for readers ---- */

void run_plan_publish(Engine *engine, const char *id, RunPlan *plan)
{
        pthread_mutex_lock(&engine->run_plans_lock);
        if (plan)
                g_hash_table_insert(engine->run_plans, g_strdup(id), run_plan_ref(plan));
        else
                g_hash_table_remove(engine->run_plans, id);
        pthread_mutex_unlock(&engine->run_plans_lock);
}

RunPlan *engine_run_plan(Engine *engine, const char *id)
{
        RunPlan *plan;

        pthread_mutex_lock(&engine->run_plans_lock);
        plan = g_hash_table_lookup(engine->run_plans, id);
        if (plan)
                run_plan_ref(plan);
        pthread_mutex_unlock(&engine->run_plans_lock);
        return plan;
}

const Definition *engine_plan_definition(const RunPlan *plan)
{
        return plan->definition;
}

void engine_plan_unref(RunPlan *plan)
{
        run_plan_unref(plan);
}
