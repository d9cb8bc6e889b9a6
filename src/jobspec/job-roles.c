/* Members of a request as roles of a framework's row (see job-request.h). The members of one role are one role of the
 * specification; if the request lists several kinds of them, a script decides which of them a process is. */
#include <string.h>

#include "base/err.h"
#include "jobspec/job-flavour.h"
#include "jobspec/job-request.h"

/* ---- commands ---- */

static void add_words(GString *out, const json_t *list)
{
        const json_t *item;
        size_t i;

        json_array_foreach(list, i, item) {
                g_autofree char *quoted = g_shell_quote(json_string_value(item));

                g_string_append_printf(out, " %s", quoted);
        }
}

/* argv of one member: sh takes the command, and the args behind it. */
static json_t *argv_of(const JobMember *member)
{
        json_t *argv = json_array();

        if (*member->command) {
                json_array_append_new(argv, json_string("sh"));
                json_array_append_new(argv, json_string("-c"));
                json_array_append_new(argv, json_string(member->command));
        }
        json_array_extend(argv, (json_t *)member->args);
        return argv;
}

/* How a member of several that share a role finds its place among them. */
static char *place_script(const Framework *row, int masters)
{
        if (strcmp(row->name, "pytorch") == 0)
                return g_strdup_printf("i=$((RANK - %d))\n", masters);
        if (strcmp(row->name, "tensorflow") == 0)
                return g_strdup("i=${TF_CONFIG##*'\"index\":'}\ni=${i%%[!0-9]*}\n");
        return g_strdup("i=$PADDLE_TRAINER_ID\n");
}

static void add_branch(GString *script, const JobMember *member, int below)
{
        g_autoptr(json_t) argv = argv_of(member);
        const char *name;
        json_t *value;

        g_string_append_printf(script, "if [ \"$i\" -lt %d ]; then exec env", below);
        json_object_foreach((json_t *)member->env, name, value) {
                g_autofree char *pair = g_strdup_printf("%s=%s", name, json_string_value(value));
                g_autofree char *quoted = g_shell_quote(pair);

                g_string_append_printf(script, " %s", quoted);
        }
        add_words(script, argv);
        g_string_append(script, "; fi\n");
}

static json_t *shared_argv(const JobRequest *request, const Framework *row, PaddleFlowRole role)
{
        int masters = role == PADDLEFLOW_MASTER ? 0 : request->counts[PADDLEFLOW_MASTER], below = 0;
        g_autofree char *place = place_script(row, masters);
        g_autoptr(GString) script = g_string_new(place);

        for (guint i = 0; i < request->members->len; i++) {
                const JobMember *member = &g_array_index(request->members, JobMember, i);

                if (member->role != role)
                        continue;
                below += member->replicas;
                add_branch(script, member, below);
        }
        g_string_append(script, "echo \"no member has the place $i\" >&2\nexit 1\n");
        return json_pack("[s, s, s]", "sh", "-c", script->str);
}

/* ---- one role ---- */

static const JobMember *first_of(const JobRequest *request, PaddleFlowRole role, int *ret_n)
{
        const JobMember *first = NULL;

        *ret_n = 0;
        for (guint i = 0; i < request->members->len; i++) {
                const JobMember *member = &g_array_index(request->members, JobMember, i);

                if (member->role != role)
                        continue;
                first = first ? first : member;
                ++*ret_n;
        }
        return first;
}

/* Nothing here runs the program that an image begins with. */
static bool has_command(const Framework *row, const JobMember *member, GError **error)
{
        const char *role = paddleflow_role_name(member->role);

        return *member->command || json_array_size(member->args) > 0 || framework_role(row, role)->program ||
               err_set(error, ERR_INVALID,
                       "no command of the role '%s' says what to run\n"
                       "Give the member a command or args: the program that its image begins with is not "
                       "run.",
                       role);
}

static bool fit_together(const JobRequest *request, const Framework *row, const JobMember *first,
                         GError **error)
{
        for (guint i = 0; i < request->members->len; i++) {
                const JobMember *member = &g_array_index(request->members, JobMember, i);

                if (member->role != first->role)
                        continue;
                if (!resources_equal(&member->each, &first->each))
                        return err_set(error, ERR_INVALID,
                                       "members: all members of the role '%s' have one flavour here",
                                       paddleflow_role_name(member->role));
                if (!has_command(row, member, error))
                        return false;
        }
        return true;
}

/* Amounts that are 0 are not asked for. */
static json_t *spec_amounts(const Resources *each)
{
        json_t *amounts = json_object();

        for (int kind = 0; kind < resource_kinds(); kind++) {
                g_autofree char *text = quantity_format(kind, each->amount[kind]);

                if (each->amount[kind] > 0)
                        json_object_set_new(amounts, resource_name(kind), json_string(text));
        }
        return amounts;
}

static json_t *role_of(const JobRequest *request, const Framework *row, PaddleFlowRole role, GError **error)
{
        int n;
        const JobMember *first = first_of(request, role, &n);
        json_t *object, *argv;

        if (!fit_together(request, row, first, error))
                return NULL;
        argv = n > 1 ? shared_argv(request, row, role) : argv_of(first);
        object = json_pack("{s:s, s:i, s:o}", "name", framework_role(row, paddleflow_role_name(role))->name,
                           "replicas", request->counts[role], "resources", spec_amounts(&first->each));
        if (json_array_size(argv) > 0)
                json_object_set(object, "command", argv);
        json_decref(argv);
        if (n == 1 && first->env)
                json_object_set(object, "env", (json_t *)first->env);
        if (job_flavour_is_named(first->flavour))
                json_object_set_new(object, "flavour", json_string(first->flavour));
        return object;
}

/* ---- all of them ---- */

static json_t *roles_of(const JobRequest *request, const Framework *row, GError **error)
{
        g_autoptr(json_t) roles = json_array();

        for (int role = 0; role < PADDLEFLOW_ROLES; role++) {
                json_t *object;

                if (request->counts[role] == 0)
                        continue;
                object = role_of(request, row, (PaddleFlowRole)role, error);
                if (!object)
                        return NULL;
                json_array_append_new(roles, object);
        }
        return g_steal_pointer(&roles);
}

json_t *job_request_format(const JobRequest *request, GError **error)
{
        const Framework *row = paddleflow_framework_row(request->framework, request->counts, error);
        json_t *roles = row ? roles_of(request, row, error) : NULL, *spec;
        const char *image;

        if (!roles)
                return NULL;
        image = g_array_index(request->members, JobMember, 0).image;
        spec = json_pack("{s:s, s:o}", "framework", row->name, "roles", roles);
        if (*image)
                json_object_set_new(spec, "image", json_string(image));
        return spec;
}
