/* A random definition and its text. */
#include "pipeline/test/random-definition.h"

enum { CHILDREN_MAX = 6, DEPTH_MAX = 3 };

static Part *part_new(Plan *plan, const char *prefix)
{
        Part *part = g_new0(Part, 1);

        part->name = g_strdup_printf("%s%u", prefix, plan->n++);
        part->body = part;
        part->children = g_ptr_array_new();
        g_ptr_array_add(plan->all, part);
        return part;
}

static void part_free(void *data)
{
        Part *part = data;

        g_free(part->name);
        g_ptr_array_unref(part->children);
        g_free(part);
}

bool plan_chance(Plan *plan, int percent)
{
        return g_rand_int_range(plan->rand, 0, 100) < percent;
}

static void fill_part(Plan *plan, Part *part, int depth);

static void add_children(Plan *plan, Part *part, int depth)
{
        int n = g_rand_int_range(plan->rand, 1, CHILDREN_MAX + 1);

        for (int i = 0; i < n; i++) {
                Part *child = part_new(plan, "c");

                for (int j = 0; j < i; j++)
                        child->deps |= plan_chance(plan, 30) ? 1u << j : 0;
                if (plan->library->len > 0 && plan_chance(plan, 20))
                        child->body =
                                plan->library
                                        ->pdata[g_rand_int_range(plan->rand, 0, (gint32)plan->library->len)];
                else
                        fill_part(plan, child, depth);
                g_ptr_array_add(part->children, child);
        }
}

static void fill_part(Plan *plan, Part *part, int depth)
{
        part->looks = plan_chance(plan, 25);
        part->loops = plan_chance(plan, 25);
        part->dag = depth > 0 && plan_chance(plan, 35);
        if (part->dag)
                add_children(plan, part, depth - 1);
}

static void disable_some(Plan *plan, const Part *dag, const char *path)
{
        for (guint i = 0; i < dag->children->len; i++) {
                Part *child = dag->children->pdata[i];
                g_autofree char *own = g_strconcat(path, *path ? "." : "", child->name, NULL);

                if (plan_chance(plan, 8)) {
                        child->disabled = true;
                        g_string_append_printf(plan->disabled, "%s%s", plan->disabled->len ? "," : "", own);
                }
                if (child->body == child)
                        disable_some(plan, child, own);
        }
}

void plan_init(Plan *plan, guint32 seed)
{
        *plan = (Plan){ .rand = g_rand_new_with_seed(seed), .disabled = g_string_new(NULL) };
        plan->all = g_ptr_array_new_with_free_func(part_free);
        plan->library = g_ptr_array_new();
        plan->continues = plan_chance(plan, 50);
        plan->post = plan_chance(plan, 40);
        plan->parallelism = g_rand_int_range(plan->rand, 1, 6);
        for (int i = g_rand_int_range(plan->rand, 0, 3); i > 0; i--) {
                Part *part = part_new(plan, "l");

                fill_part(plan, part, 1);
                g_ptr_array_add(plan->library, part);
        }
        plan->root = part_new(plan, "root");
        plan->root->dag = true;
        add_children(plan, plan->root, DEPTH_MAX);
        disable_some(plan, plan->root, "");
        plan->posts = part_new(plan, "posts");
        plan->posts->dag = true;
        if (plan->post)
                g_ptr_array_add(plan->posts->children, part_new(plan, "p"));
}

void plan_clear(Plan *plan)
{
        g_rand_free(plan->rand);
        g_string_free(plan->disabled, TRUE);
        g_ptr_array_unref(plan->library);
        g_ptr_array_unref(plan->all);
}

static void write_parts(GString *out, const GPtrArray *parts);

static void write_part(GString *out, const Part *part, const GPtrArray *siblings)
{
        g_string_append_printf(out, "\"%s\": {\"deps\": \"", part->name);
        for (guint j = 0; part->deps >> j; j++)
                if (part->deps & 1u << j)
                        g_string_append_printf(out, "%s,", ((Part *)siblings->pdata[j])->name);
        g_string_append_c(out, '"');
        if (part->body != part) {
                g_string_append_printf(out, ", \"reference\": {\"component\": \"%s\"}}", part->body->name);
                return;
        }
        if (part->looks)
                g_string_append(out, ", \"condition\": \"1 > 0\"");
        if (part->loops)
                g_string_append(out, ", \"loop_argument\": [1, 2]");
        if (part->dag) {
                g_string_append(out, ", \"entry_points\": ");
                write_parts(out, part->children);
        } else {
                g_string_append(out, ", \"command\": \"true\"");
        }
        g_string_append_c(out, '}');
}

static void write_parts(GString *out, const GPtrArray *parts)
{
        g_string_append_c(out, '{');
        for (guint i = 0; i < parts->len; i++) {
                g_string_append(out, i ? ", " : "");
                write_part(out, parts->pdata[i], parts);
        }
        g_string_append_c(out, '}');
}

Definition *plan_compile(const Plan *plan)
{
        g_autoptr(GString) text = g_string_new("{\"name\": \"p\", \"docker_env\": \"image\"");
        g_auto(Problems) problems = { 0 };
        Definition *ret;

        problems_init(&problems);
        g_string_append_printf(text, ", \"parallelism\": %d, \"failure_options\": {\"strategy\": \"%s\"}",
                               plan->parallelism, plan->continues ? "continue" : "fail_fast");
        g_string_append_printf(text, ", \"disabled\": \"%s\", \"entry_points\": ", plan->disabled->str);
        write_parts(text, plan->root->children);
        g_string_append(text, ", \"components\": ");
        write_parts(text, plan->library);
        if (plan->post) {
                g_string_append(text, ", \"post_process\": ");
                write_parts(text, plan->posts->children);
        }
        g_string_append_c(text, '}');
        ret = definition_parse(text->str, text->len, &(DefinitionRequest){ 0 }, &problems);
        if (!ret)
                g_error("%s\n%s", problem_format(problems_first(&problems)), text->str);
        return ret;
}
