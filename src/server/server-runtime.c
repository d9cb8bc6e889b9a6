/* The runtime of this machine, as the options describe it (see server.h). */
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/number.h"
#include "runtime/local/egress.h"
#include "runtime/local/local.h"
#include "server/server.h"

/* Increments the epoch of the last start, so that the agent recognizes the newer of two servers. */
static bool next_epoch(const Server *server, gint64 *ret, GError **error)
{
        g_autofree char *path = server_path(server, "epoch");
        g_autofree char *text = NULL;
        g_autofree char *line = NULL;
        gint64 last = 0;

        if (file_read(path, 64, &text, NULL, NULL) &&
            !number_parse("epoch", g_strchomp(text), 0, G_MAXINT64 - 1, &last, error))
                return err_prefix(error, "'%s': ", path);
        line = g_strdup_printf("%" G_GINT64_FORMAT "\n", last + 1);
        if (!file_replace(path, line, strlen(line), 0600, true, error))
                return false;
        *ret = last + 1;
        return true;
}

static char *beside_this_program(const char *name)
{
        char self[PATH_MAX];
        ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
        g_autofree char *dir = NULL;

        if (len < 0)
                return g_strdup(name);
        self[len] = '\0';
        dir = g_path_get_dirname(self);
        return g_build_filename(dir, name, NULL);
}

/* "rdma/hca=2" also makes the kind known to the whole server. */
static bool read_resources(const ServerOptions *options, Resources *ret, GError **error)
{
        for (guint i = 0; options->resources && i < options->resources->len; i++) {
                const char *text = g_ptr_array_index(options->resources, i);
                const char *equals = strchr(text, '=');
                g_autofree char *name = g_strndup(text, equals ? (gsize)(equals - text) : strlen(text));
                int kind;

                if (!equals)
                        return err_set(error, ERR_USAGE, "--resource: '%s' is not NAME=AMOUNT", text);
                kind = resource_intern("--resource", name, error);
                if (kind < 0 || !quantity_parse("--resource", kind, equals + 1, &ret->amount[kind], error))
                        return false;
        }
        return true;
}

static bool read_build_network(const char *text, BuildNetwork *ret, GError **error)
{
        static const char *const names[] = {
                [BUILD_NETWORK_HOST] = "host", [BUILD_NETWORK_AUTO] = "auto", [BUILD_NETWORK_INDEX] = "index"
        };

        for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
                if (strcmp(names[i], text) == 0) {
                        *ret = (BuildNetwork)i;
                        return true;
                }
        return err_set(error, ERR_USAGE, "--build-network: '%s' is not auto, index or host", text);
}

static bool read_builds(const ServerOptions *options, BuildBounds *ret, GError **error)
{
        *ret = (BuildBounds){ .processes = options->build_processes,
                              .time_limit_ms = options->build_limit_ms,
                              .at_once = (int)options->builds,
                              .at_once_per_user = (int)options->builds_per_user,
                              .urls = options->requirement_urls,
                              .allow = options->build_allow };
        return cpu_parse("--build-cpus", options->build_cpus, &ret->each.cpu_milli, error) &&
               memory_parse("--build-memory", options->build_memory, &ret->each.memory, error) &&
               read_build_network(options->build_network, &ret->network, error);
}

/* Parses --sandbox and --sandbox-keep. */
static bool read_sandbox(const Server *server, SandboxPolicy *ret, char ***ret_keep, GError **error)
{
        static const char *const words[] = {
                [SANDBOX_AUTO] = "auto", [SANDBOX_ON] = "on", [SANDBOX_OFF] = "off"
        };
        const ServerOptions *options = &server->options;
        g_auto(GStrv) keep = options->sandbox_keep ? g_strsplit(options->sandbox_keep, ",", -1) : NULL;
        int policy = 0;

        while (policy < (int)G_N_ELEMENTS(words) && strcmp(options->sandbox, words[policy]) != 0)
                policy++;
        if (policy == (int)G_N_ELEMENTS(words))
                return err_set(error, ERR_USAGE, "--sandbox: '%s' is not auto, on or off", options->sandbox);
        if (policy == SANDBOX_ON && !server->identities)
                return err_set(
                        error, ERR_USAGE,
                        "--sandbox on: members run as the server itself, which has no sandbox for them\n"
                        "Start the server as root and without `--run-as server`.");
        *ret = (SandboxPolicy)policy;
        *ret_keep = g_steal_pointer(&keep);
        return true;
}

bool server_open_runtime(Server *server, GError **error)
{
        const ServerOptions *options = &server->options;
        g_autofree char *agent =
                options->agent ? g_strdup(options->agent) : beside_this_program("paddle-agent");
        g_auto(GStrv) new_privileges =
                options->new_privileges ? g_strsplit(options->new_privileges, ",", -1) : NULL;
        g_auto(GStrv) no_sandbox = options->no_sandbox ? g_strsplit(options->no_sandbox, ",", -1) : NULL;
        g_auto(GStrv) keep = NULL;
        g_autofree char *egress = NULL;
        LocalConfig config = {
                .state_dir = options->state,
                .agent_program = agent,
                .dc = options->datacenter,
                .uv = options->uv,
                .python = options->python,
                .inventory.gpus = options->gpus,
                .max_processes = options->max_processes,
                .max_user_processes = options->max_user_processes,
                .identities = server->identities,
                .projects = disk_projects(server->disk),
                .ledger = disk_ledger(server->disk),
                .new_privileges = new_privileges,
                .no_sandbox = no_sandbox,
        };

        if (!read_sandbox(server, &config.sandbox, &keep, error))
                return false;
        config.sandbox_keep = keep;
        if (options->egress && !egress_parse(options->egress, &egress, error))
                return err_prefix(error, "--egress: ");
        if (egress && !server->identities)
                return err_set(error, ERR_USAGE,
                               "--egress: members run as the server itself, which it does not limit\n"
                               "Start the server as root and without `--run-as server`.");
        config.egress = egress;
        if (!read_resources(options, &config.inventory, error) ||
            (options->cpus && !cpu_parse("--cpus", options->cpus, &config.inventory.cpu_milli, error)) ||
            (options->memory &&
             !memory_parse("--memory", options->memory, &config.inventory.memory, error)) ||
            !memory_parse("--log-limit", options->log_limit, &config.log_limit, error) ||
            !read_builds(options, &config.builds, error) || !next_epoch(server, &config.epoch, error))
                return false;
        server->drivers.builds = config.builds;
        if (new_privileges)
                log_warning("members of some users may gain rights with set-uid programs: a bug in one of "
                            "these lets a job become root",
                            "users", options->new_privileges, NULL);
        server->runtime = local_runtime_new(&config, error);
        return server->runtime != NULL;
}
