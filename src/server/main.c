/* paddled: reads its options, builds the objects from the store upwards, runs until SIGTERM or SIGINT, and
 * frees them in the opposite order. Jobs continue without it. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/auth/directory.h"
#include "api/auth/recorder.h"
#include "api/auth/sso.h"
#include "api/paddleflow/flow.h"
#include "api/v1/api.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/id.h"
#include "base/json.h"
#include "base/log.h"
#include "base/number.h"
#include "engine/disk.h"
#include "engine/engine.h"
#include "runtime/local/egress.h"
#include "runtime/local/lineage.h"
#include "runtime/local/local.h"
#include "server/drivers.h"
#include "server/first-password.h"
#include "server/idle.h"
#include "server/listeners.h"
#include "server/option-lists.h"
#include "server/options.h"

enum {
        USER_BYTES_MAX = 64 << 20, /* of one user's request bodies in memory: the maximum of any route */
        STRANGER_BYTES_MAX = 32 << 20,
        STRANGER_BODY_MS = 10000,
        STRANGER_DISCARD_MAX = 16 << 10, /* the size of a log-in's body */
};
enum { OIDC_SECRET_MAX = 4096 };

#define SOCKET "paddled.sock" /* in the state directory */
#define SOCKET_ASIDE "paddled.sock.ending"

typedef struct {
        ServerOptions options;
        GMainLoop *loop;
        char boot_id[37];
        Store *store;
        Identities *identities; /* NULL: members run as the server */
        Runtime *runtime;
        DriversConfig drivers; /* for the runtimes of other clusters */
        char *id;              /* names this server's objects in a cluster */
        Disk *disk;
        Storage *storage;
        PackageStore *packages;
        Engine *engine;
        Audit *audit;
        Recorder *recorder;
        Directory *directory; /* of LDAP; or NULL */
        Auth *auth;
        Sso *sso; /* or NULL */
        char *oidc_secret;
        Api *api;
        PaddleFlow *flow;           /* the older interface */
        Tls *tls;                   /* of the TCP ports; or NULL */
        HttpServer *http, *metrics; /* `metrics`: on a separate port, or NULL */
        char *journal;              /* directory of the scheduler's journal */
        char node_name[HOST_NAME_MAX + 1];
        char **node_labels;     /* or NULL */
        char **published;       /* AuthConfig.published; or NULL */
        char **trusted_proxies; /* HttpServerConfig.trusted_proxies; or NULL */
        char *factor_key;       /* file with the key of second factors */
        SealKey *secrets;       /* key of users' secrets */
        SecondFactorFor factor_for;
        char *first_password; /* file with root's password, until that is changed */
        Idle idle;
        int start_lock; /* held while the server ends by itself */
} Server;

static char *state_path(const Server *server, const char *name)
{
        return g_build_filename(server->options.state, name, NULL);
}

/* The accounts that members use. Only root can use others. */
static bool open_identities(Server *server, GError **error)
{
        const char *run_as = server->options.run_as;
        bool as_user = strcmp(run_as, "user") == 0;
        UidPool pool;

        if (!as_user && strcmp(run_as, "server") != 0)
                return err_set(error, ERR_USAGE, "--run-as: '%s' is neither user nor server", run_as);
        if (!uid_pool_parse("--job-uids", server->options.job_uids, &pool, error))
                return false;
        if (as_user && geteuid() == 0)
                server->identities = identities_new(&pool);
        return true;
}

/* The home of a user of the platform (StorageOwnerOf). */
static bool owner_of(const char *user, Owner *ret, void *arg, GError **error)
{
        Server *server = arg;
        g_autoptr(Catalog) catalog = engine_catalog(server->engine);
        const User *known = catalog_user(catalog, user);
        g_autoptr(Identity) identity = NULL;

        if (!identity_find(server->identities, user, known ? known->object.seq : 0, &identity, error))
                return false;
        *ret = identity ? identity->owner : (Owner){ geteuid(), getegid() };
        return true;
}

/* The rights for files of a user's runs (FileRights): those of the Unix user that runs their jobs. */
static bool file_rights(const char *user, gint64 seq, bool home, UnixRights **ret, void *arg, GError **error)
{
        const Server *server = arg;
        g_autoptr(Identity) identity = NULL;
        Owner owner = { geteuid(), getegid() };

        if (server->identities && !identity_find(server->identities, user, seq, &identity, error))
                return false;
        if (identity)
                owner = identity->owner;
        if (home && !storage_make_home(server->storage, user, &owner, error))
                return false;
        if (!identity)
                return true;
        *ret = g_new(UnixRights, 1);
        **ret = unix_rights_copy(&(UnixRights){ .uid = identity->owner.uid,
                                                .gid = identity->owner.gid,
                                                .groups = identity->groups,
                                                .n_groups = identity->n_groups });
        return true;
}

static bool make_state_dir(Server *server, GError **error)
{
        static const char *const private_dirs[] = { "agent", "envs", "jobs", "packages", "storage" };
        g_autofree char *absolute = g_canonicalize_filename(server->options.state, NULL);

        bool fresh = access(absolute, F_OK) < 0;

        g_free(server->options.state);
        server->options.state = g_steal_pointer(&absolute);
        if (!file_mkdirs(server->options.state, 0711, error))
                return false;
        if (fresh && server->identities && chmod(server->options.state, 0711) < 0) /* past the umask */
                return err_set_errno(error, errno, "cannot change the mode of '%s'", server->options.state);
        for (gsize i = 0; i < G_N_ELEMENTS(private_dirs); i++) {
                g_autofree char *path = state_path(server, private_dirs[i]);

                if (!file_mkdirs(path, 0700, error))
                        return false;
        }
        return true;
}

/* Deletes unfinished request bodies of a server that died. Needs the store's lock. */
static bool make_temp_dir(const Server *server, GError **error)
{
        g_autofree char *path = state_path(server, "tmp");

        return file_remove_tree(path, error) && file_mkdirs(path, 0700, error);
}

/* Increments the epoch of the last start, so that the agent recognizes the newer of two servers. */
static bool next_epoch(const Server *server, gint64 *ret, GError **error)
{
        g_autofree char *path = state_path(server, "epoch");
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

static bool open_runtime(Server *server, GError **error)
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

/* The outcome of a commit is unknown: memory may differ from the disk, so the next start reads everything
 * again. */
static void on_fatal(const GError *error, void *arg)
{
        log_error("the store failed and its state is unknown; exiting so that the next start reads it again",
                  "error", error->message, NULL);
        _exit(1);
}

/* This machine as the scheduler sees it. */
static bool describe_node(Server *server, GError **error)
{
        const char *labels = server->options.node_labels;

        if (gethostname(server->node_name, sizeof server->node_name) < 0)
                return err_set_errno(error, errno, "the machine's name cannot be read");
        server->node_name[sizeof server->node_name - 1] = '\0';
        if (!labels || !*labels)
                return true;
        server->node_labels = g_strsplit(labels, ",", -1);
        for (char **label = server->node_labels; *label; label++)
                if (**label == '=' || !strchr(*label, '='))
                        return err_set(error, ERR_USAGE, "--node-labels: '%s' is not KEY=VALUE", *label);
        return true;
}

/* Creates the id at the first start. */
static bool read_id(Server *server, GError **error)
{
        g_autofree char *path = state_path(server, "server-id");
        g_autofree char *text = NULL;
        char id[ID_LEN + 1];

        if (g_file_test(path, G_FILE_TEST_EXISTS)) {
                if (!file_read(path, 64, &text, NULL, error))
                        return false;
                g_strstrip(text);
                if (!id_is_valid(text))
                        return err_set(error, ERR_INVALID, "'%s' does not hold a server's id, but '%s'", path,
                                       text);
                server->id = g_steal_pointer(&text);
                return true;
        }
        id_new(id);
        server->id = g_strdup(id);
        return file_replace(path, id, strlen(id), 0644, true, error);
}

static bool open_drivers(Server *server, GError **error)
{
        if (!read_id(server, error) ||
            !memory_parse("--log-limit", server->options.log_limit, &server->drivers.log_limit, error))
                return false;
        server->drivers.state_dir = server->options.state;
        server->drivers.server = server->id;
        server->drivers.dc = server->options.datacenter;
        server->drivers.pending_ms = server->options.pending_ttl_s * 1000;
        return true;
}

static bool open_secrets(Server *server, GError **error)
{
        g_autofree char *path = state_path(server, "secrets.key");

        server->secrets = seal_key_new(path, "secrets");
        return true;
}

static bool open_engine(Server *server, GError **error)
{
        g_autofree char *homes =
                g_build_filename(server->options.state, "storage", server->options.datacenter, "home", NULL);
        EngineConfig config = {
                .store = server->store,
                .runtime = server->runtime,
                .driver = drivers_make,
                .driver_arg = &server->drivers,
                .elsewhere = drivers_elsewhere,
                .dc = server->options.datacenter,
                .boot_id = server->boot_id,
                .keep_events = server->options.keep_events,
                .keep_finished_ms = server->options.keep_finished_ms,
                .ttl = { .succeeded_ms = server->options.succeeded_ttl_s * 1000,
                         .failed_ms = server->options.failed_ttl_s * 1000,
                         .keep = !server->options.clean_jobs,
                         .keep_failed = server->options.keep_failed },
                .max_open_jobs = (int)server->options.max_open_jobs,
                .max_open_per_user = (int)server->options.max_open_per_user,
                .submit_rate = (int)server->options.submit_rate,
                .schedule_rate = (int)server->options.schedule_rate,
                .max_parallelism = (int)server->options.max_parallelism,
                .max_run_bytes = server->options.max_run_mib << 20,
                .may_write = disk_may_write,
                .may_write_arg = server->disk,
                .file_rights = file_rights,
                .file_rights_arg = server,
                .open_queues = server->options.open_queues,
                .node_name = server->node_name,
                .scheduler.topology = server->options.topology,
                .scheduler.half_life_ms = server->options.half_life_ms,
                .scheduler.cooldown_ms = server->options.cooldown_ms,
                .secrets = server->secrets,
                .fatal = on_fatal,
        };

        config.homes = homes;
        server->journal = state_path(server, "scheduler");
        config.journal_dir = server->journal;
        if (!describe_node(server, error))
                return false;
        config.node_labels = (const char *const *)server->node_labels;
        server->engine = engine_new(&config, error);
        return server->engine != NULL;
}

/* Parses "ADDRESS,..." into the form in which the server writes addresses of callers; `word` is accepted as
 * it is. NULL: absent, or refused with ERR_USAGE. */
static char **read_addresses(const char *option, const char *text, const char *word, GError **error)
{
        g_auto(GStrv) list = text ? g_strsplit(text, ",", -1) : NULL;

        for (char **at = list; at && *at; at++) {
                int family = strchr(*at, ':') ? AF_INET6 : AF_INET;
                struct in6_addr address;
                char shown[INET6_ADDRSTRLEN];

                if (g_strcmp0(*at, word) == 0)
                        continue;
                if (inet_pton(family, *at, &address) != 1) {
                        err_set(error, ERR_USAGE, "%s: '%s' is not an address, such as 127.0.0.1%s%s", option,
                                *at, word ? ", or " : "", word ? word : "");
                        return NULL;
                }
                g_free(*at);
                *at = g_strdup(inet_ntop(family, &address, shown, sizeof shown));
        }
        return g_steal_pointer(&list);
}

static bool read_directory(Server *server, GError **error)
{
        const ServerOptions *options = &server->options;
        DirectoryTls tls;

        if (!options->ldap_url)
                return (!options->ldap_user_dn && !options->ldap_base && !options->ldap_bind_dn &&
                        !options->ldap_bind_password_file && !options->ldap_ca &&
                        !options->ldap_create_users && strcmp(options->ldap_tls, "auto") == 0) ||
                       err_set(error, ERR_INVALID, "--ldap-url is missing: it says which directory to ask");
        if (!directory_tls_parse(options->ldap_tls, &tls, error))
                return false;
        server->directory =
                directory_new(&(DirectoryConfig){ .url = options->ldap_url,
                                                  .user_dn = options->ldap_user_dn,
                                                  .base = options->ldap_base,
                                                  .filter = options->ldap_filter,
                                                  .bind_dn = options->ldap_bind_dn,
                                                  .bind_password_file = options->ldap_bind_password_file,
                                                  .ca = options->ldap_ca,
                                                  .tls = tls,
                                                  .timeout_ms = options->ldap_timeout_ms,
                                                  .create_users = options->ldap_create_users },
                              error);
        return server->directory != NULL;
}

static bool read_lists(Server *server, GError **error)
{
        const ServerOptions *options = &server->options;
        GError *failure = NULL;

        server->published = read_addresses("--published-password", options->published, "unix", &failure);
        if (!failure)
                server->trusted_proxies =
                        read_addresses("--trusted-proxies", options->trusted_proxies, NULL, &failure);
        if (!failure)
                (void)second_factor_for_parse("--require-second-factor", options->require_second_factor,
                                              &server->factor_for, &failure);
        if (!failure)
                (void)read_directory(server, &failure);
        if (failure)
                g_propagate_error(error, failure);
        return !failure;
}

/* Decides how `root` can log in before its password was set: with the password in the file, or with the
 * published password that older clients use. */
static bool settle_root(Server *server, GError **error)
{
        if (!server->published)
                return first_password_make(server->engine, server->first_password, error);
        if (first_password_is_there(server->engine)) {
                bool random = g_file_test(server->first_password, G_FILE_TEST_EXISTS);

                log_warning(
                        random ? "--published-password has no effect: 'root' got a random password at an "
                                 "earlier "
                                 "start without this option; write the one of this file into the clients' "
                                 "configuration, or leave the option out"
                               : "--published-password has no effect: 'root' has a password of its own; "
                                 "write that "
                                 "into the clients' configuration, or leave the option out",
                        "published-password", server->options.published, random ? "file" : NULL,
                        server->first_password, NULL);
                return true;
        }
        log_warning("clients at these addresses can log in as 'root', unless its password was changed "
                    "(paddle user set root --password)",
                    "published-password", server->options.published, NULL);
        return true;
}

/* Checks the settings of single sign-on before anything is started. */
static bool read_sso(Server *server, GError **error)
{
        const ServerOptions *options = &server->options;
        const char *path = options->oidc_secret_file;
        gsize len;

        if (!options->oidc_issuer && !options->oidc_client && !path && !options->oidc_ca &&
            !options->oidc_create)
                return true;
        if (!options->oidc_issuer || !options->oidc_client)
                return err_set(
                        error, ERR_USAGE,
                        "--oidc-issuer and --oidc-client-id go together\nGive both for single sign-on.");
        if (options->oidc_expire_ms < 1000)
                return err_set(error, ERR_USAGE, "--oidc-expire: a log-in lasts a second at least");
        if (!oidc_check_issuer(options->oidc_issuer, error))
                return err_prefix(error, "--oidc-issuer: ");
        if (!path)
                return true;
        if (!file_read(path, OIDC_SECRET_MAX, &server->oidc_secret, &len, error))
                return err_prefix(error, "--oidc-client-secret-file: ");
        g_strchomp(server->oidc_secret);
        return *server->oidc_secret ||
               err_set(error, ERR_USAGE, "--oidc-client-secret-file: '%s' is empty", path);
}

static bool open_metrics(Server *server, GError **error)
{
        g_autofree char *temp = state_path(server, "tmp");
        HttpServerConfig config = { .listen = server->options.metrics_listen,
                                    .temp_dir = temp,
                                    .max_connections = 64,
                                    .tls = server->tls };

        if (!config.listen)
                return true;
        server->metrics = http_server_new(&config, api_metrics_routes(), server->api, error);
        return server->metrics || err_prefix(error, "--metrics-listen: ");
}

static bool open_audit(Server *server, GError **error)
{
        const ServerOptions *options = &server->options;
        g_autofree char *dir = state_path(server, "audit");
        AuditConfig config = { .dir = dir,
                               .file_age_ms = options->audit_age_ms,
                               .files = (int)options->audit_files };

        if (!memory_parse("--audit-file-size", options->audit_size, &config.file_size, error))
                return false;
        server->audit = audit_open(&config, error);
        if (!server->audit)
                return false;
        server->recorder = recorder_new(server->audit);
        return true;
}

static bool open_http(Server *server, GError **error)
{
        g_autofree char *socket = state_path(server, SOCKET);
        g_autofree char *temp = state_path(server, "tmp");
        bool tcp = strcmp(server->options.listen, "none") != 0;
        const HttpFace faces[] = { paddleflow_face(server->flow),
                                   paddleflow_face_outside(server->flow),
                                   { NULL } };
        HttpServerConfig config = {
                .faces = faces,
                .listen = tcp ? server->options.listen : NULL,
                .socket_path = socket,
                .temp_dir = temp,
                .workers = (int)server->options.workers,
                .max_connections = (int)server->options.max_connections,
                .max_per_holder =
                        (int)(server->options.max_per_address ? server->options.max_per_address
                                                              : server->options.max_connections / 4),
                .user_bytes_max = USER_BYTES_MAX,
                .stranger_bytes_max = STRANGER_BYTES_MAX,
                .stranger_body_ms = STRANGER_BODY_MS,
                .stranger_discard_max = STRANGER_DISCARD_MAX,
                .access = auth_access,
                .trusted_proxies = (const char *const *)server->trusted_proxies,
                .authenticate = auth_authenticate,
                .permits = auth_admits,
                .record = auth_record,
                .credential = auth_credential,
                .is_valid = auth_is_valid,
                .by_certificate = auth_by_certificate,
                .tls = server->tls,
                .arg = server->auth,
                .hold = disk_hold,
                .release = disk_release,
                .hold_arg = server->disk,
        };

        if (tcp && !settle_root(server, error))
                return false;
        server->http = http_server_new(&config, api_routes(), server->api, error);
        if (!server->http)
                return false;
        api_set_server(server->api, server->http);
        return open_metrics(server, error);
}

static bool open_sso(Server *server, GError **error)
{
        const ServerOptions *options = &server->options;
        gint64 most = options->token_expire_ms;

        if (!options->oidc_issuer)
                return true;
        server->sso = sso_new(&(SsoConfig){ .auth = server->auth,
                                            .engine = server->engine,
                                            .store = server->store,
                                            .issuer = { options->oidc_issuer, options->oidc_client,
                                                        server->oidc_secret, options->oidc_ca },
                                            .username_claim = options->oidc_username,
                                            .create_users = options->oidc_create,
                                            .expire_ms = most ? MIN(most, options->oidc_expire_ms)
                                                              : options->oidc_expire_ms },
                              error);
        return server->sso;
}

static bool write_pid(Server *server, GError **error)
{
        g_autofree char *path = state_path(server, "paddled.pid");
        g_autofree char *line = g_strdup_printf("%d\n", (int)getpid());

        return file_replace(path, line, strlen(line), 0644, false, error);
}

static bool has_authority(const char *authority, void *arg)
{
        return tls_has_authority(arg, authority);
}

static bool open_disk(Server *server, GError **error)
{
        const ServerOptions *options = &server->options;
        const DiskConfig config = { .state_dir = options->state,
                                    .dc = options->datacenter,
                                    .user_disk = options->user_disk,
                                    .user_files = options->user_files,
                                    .project_quota = options->project_quota,
                                    .project_ids = options->project_ids,
                                    .gc = options->gc,
                                    .gc_every_ms = options->gc_every_ms,
                                    .identities = server->identities };

        server->disk = disk_new(&config, error);
        return server->disk != NULL;
}

static bool check_options(Server *server, GError **error)
{
        return listeners_check(&server->options, error) && option_lists_check(&server->options, error);
}

static bool open_tls(Server *server, GError **error)
{
        return listeners_open_tls(&server->options, &server->tls, error);
}

static bool read_boot_id(Server *server, GError **error)
{
        return clock_boot_id(server->boot_id, error);
}

static bool open_store(Server *server, GError **error)
{
        server->store = store_open(server->options.state, error);
        return server->store && make_temp_dir(server, error);
}

static bool open_packages(Server *server, GError **error)
{
        g_autofree char *path = state_path(server, "packages");

        server->packages = package_store_open(path, error);
        if (server->packages)
                package_store_count(server->packages, disk_ledger(server->disk));
        return server->packages != NULL;
}

static bool open_storage(Server *server, GError **error)
{
        g_autofree char *path = state_path(server, "storage");

        server->storage = storage_open(path, server->options.datacenter, error);
        if (!server->storage)
                return false;
        storage_count(server->storage, disk_ledger(server->disk)); /* before jobs and runs use it */
        storage_set_projects(server->storage, disk_projects(server->disk));
        return true;
}

/* What only works with an engine: owners of homes, and the checks of the disk. */
static bool start_disk(Server *server, GError **error)
{
        if (server->identities)
                storage_set_owners(server->storage, owner_of, server);
        disk_start(server->disk, &(DiskParts){ .engine = server->engine,
                                               .store = server->store,
                                               .storage = server->storage,
                                               .packages = server->packages });
        return true;
}

static bool open_auth(Server *server, GError **error)
{
        server->first_password = state_path(server, "root-password");
        server->factor_key = state_path(server, "second-factor.key");
        server->auth =
                auth_new(&(AuthConfig){ .engine = server->engine,
                                        .has_authority = server->tls ? has_authority : NULL,
                                        .has_authority_arg = server->tls,
                                        .store = server->store,
                                        .owner = geteuid(),
                                        .token_expire_ms = server->options.token_expire_ms,
                                        .open_queues = server->options.open_queues,
                                        .published = (const char *const *)server->published,
                                        .is_of_member = server->identities ? lineage_has_connection : NULL,
                                        .directory = server->directory,
                                        .recorder = server->recorder,
                                        .second_factor_for = server->factor_for,
                                        .second_factor_key = server->factor_key,
                                        .first_password = server->first_password });
        return true;
}

static bool open_api(Server *server, GError **error)
{
        server->api = api_new(&(ApiConfig){ .engine = server->engine,
                                            .store = server->store,
                                            .runtime = server->runtime,
                                            .storage = server->storage,
                                            .packages = server->packages,
                                            .ledger = disk_ledger(server->disk),
                                            .projects = disk_projects(server->disk),
                                            .janitor = disk_janitor(server->disk),
                                            .auth = server->auth,
                                            .sso = server->sso,
                                            .audit = server->audit,
                                            .secrets = server->secrets,
                                            .dc = server->options.datacenter,
                                            .state_dir = server->options.state,
                                            .journal_dir = server->journal,
                                            .node_name = server->node_name,
                                            .node_labels = (const char *const *)server->node_labels });
        return true;
}

/* The older interface. */
static bool open_flow(Server *server, GError **error)
{
        server->flow =
                paddleflow_new(&(PaddleFlowConfig){ .engine = server->engine,
                                                    .store = server->store,
                                                    .runtime = server->runtime,
                                                    .auth = server->auth,
                                                    .packages = server->packages,
                                                    .state_dir = server->options.state,
                                                    .node_name = server->node_name,
                                                    .node_labels = (const char *const *)server->node_labels,
                                                    .templates = server->options.job_templates,
                                                    .skip_resource_check =
                                                            g_getenv("PF_SKIP_RESOURCE_VALIDATE"),
                                                    .check_cluster = drivers_check },
                               error);
        return server->flow != NULL;
}

/* In this order; server_close frees them in the opposite one. */
static bool (*const parts[])(Server *server, GError **error) = {
        /* mistakes in the options, before a file is made */
        check_options,
        read_lists,
        read_sso,
        open_tls,
        open_identities,
        /* the state directory */
        make_state_dir,
        read_boot_id,
        open_disk,
        open_secrets,
        open_store,
        open_packages,
        open_storage,
        /* jobs and runs */
        open_runtime,
        open_drivers,
        open_engine,
        start_disk,
        /* the interfaces */
        open_audit,
        open_auth,
        open_sso,
        open_api,
        open_flow,
        open_http,
        write_pid,
};

static bool server_open(Server *server, GError **error)
{
        for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
                if (!parts[i](server, error))
                        return false;
        return true;
}

/* Newest first; also frees a server that is only partly opened. */
static void server_close(Server *server)
{
        g_autofree char *pid = state_path(server, "paddled.pid");

        sso_stop(server->sso);
        if (server->auth)
                auth_stop(server->auth);
        if (server->api)
                api_stop(server->api);
        if (server->flow)
                paddleflow_stop(server->flow);
        disk_quiesce(server->disk);
        if (server->http)
                (void)unlink(pid); /* only a running server wrote it */
        http_server_free(server->metrics);
        http_server_free(server->http);
        paddleflow_free(server->flow);
        api_free(server->api);
        sso_free(server->sso);
        auth_free(server->auth);
        directory_free(server->directory);
        listeners_close(server->tls);
        disk_stop(server->disk);
        recorder_free(server->recorder);
        audit_close(server->audit);
        engine_free(server->engine);
        if (server->runtime)
                local_runtime_free(server->runtime);
        identities_free(server->identities);
        storage_close(server->storage);
        package_store_close(server->packages);
        store_close(server->store);
        disk_free(server->disk);
        g_strfreev(server->node_labels);
        g_strfreev(server->published);
        g_strfreev(server->trusted_proxies);
        g_free(server->first_password);
        g_free(server->oidc_secret);
        g_free(server->factor_key);
        seal_key_free(server->secrets);
        g_free(server->journal);
        g_free(server->id);
}

static gboolean on_signal(void *arg)
{
        Server *server = arg;

        g_main_loop_quit(server->loop);
        return G_SOURCE_CONTINUE;
}

/* Before the socket exists: the main loop handles a signal that arrives while the server opens. */
static void listen_to_signals(Server *server)
{
        server->loop = g_main_loop_new(NULL, FALSE);
        g_unix_signal_add(SIGTERM, on_signal, server);
        g_unix_signal_add(SIGINT, on_signal, server);
}

/* ---- ending without work ----
 * In two steps, so that no command meets a server that is ending. First the server takes the lock that
 * commands take before they start a server, and renames the socket. A moment later it ends, unless a client
 * has connected just before. A command that comes meanwhile finds no socket, waits for the lock, and starts
 * another server. */

enum { LAST_LOOK_MS = 200 };

static void watch_idleness(Server *server);

static IdleLook look_around(const Server *server)
{
        EngineMetrics engine;
        HttpMetrics http;

        engine_metrics(server->engine, &engine);
        http_server_metrics(server->http, &http);
        return (IdleLook){ engine.open_jobs, engine.running_schedules, http.connections, http.requests };
}

/* False: a command holds the lock. */
static bool take_start_lock(Server *server)
{
        g_autofree char *path = state_path(server, "paddled.start");
        fd_auto int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

        if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
                return false;
        server->start_lock = fd_steal(&fd);
        return true;
}

static void move_socket(const Server *server, const char *from, const char *to)
{
        g_autofree char *here = state_path(server, from), *there = state_path(server, to);

        if (rename(here, there) < 0)
                log_warning("the socket cannot be moved", "error", g_strerror(errno), NULL);
}

static gboolean on_last_look(void *arg)
{
        Server *server = arg;
        IdleLook seen = look_around(server);

        if (idle_look(&server->idle, &seen, clock_monotonic_ms())) {
                log_info(
                        "no jobs, no schedules and no clients: the server stops; the next command starts it again",
                        NULL);
                g_main_loop_quit(server->loop);
                return G_SOURCE_REMOVE;
        }
        move_socket(server, SOCKET_ASIDE, SOCKET);
        close(server->start_lock);
        watch_idleness(server);
        return G_SOURCE_REMOVE;
}

static gboolean on_idle_timer(void *arg)
{
        Server *server = arg;
        IdleLook seen = look_around(server);

        if (!idle_look(&server->idle, &seen, clock_monotonic_ms()) || !take_start_lock(server))
                return G_SOURCE_CONTINUE;
        move_socket(server, SOCKET, SOCKET_ASIDE);
        g_timeout_add(LAST_LOOK_MS, on_last_look, server);
        return G_SOURCE_REMOVE;
}

static void watch_idleness(Server *server)
{
        if (server->options.idle_ms > 0)
                g_timeout_add((guint)idle_step_ms(&server->idle), on_idle_timer, server);
}

static void serve(Server *server)
{
        g_autofree char *port = g_strdup_printf("%d", http_server_port(server->http));
        g_autofree char *metrics =
                g_strdup_printf("%d", server->metrics ? http_server_port(server->metrics) : 0);

        log_info("serving", "state", server->options.state, "listen", server->options.listen, "port", port,
                 "metrics_port", metrics, "tls", server->tls ? "yes" : "no", "version", PADDLE_VERSION, NULL);
        idle_init(&server->idle, server->options.idle_ms, clock_monotonic_ms());
        watch_idleness(server);
        g_main_loop_run(server->loop);
        log_info("stopping; jobs keep running", NULL);
}

/* Connections, followers and uploads take a descriptor each, more than the usual soft limit of 1024. */
static void raise_limits(void)
{
        struct rlimit limit;

        if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
                return;
        limit.rlim_cur = limit.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
                log_warning("cannot raise the limit of open files; going on with the present one", "error",
                            g_strerror(errno), NULL);
}

/* Jobs compute all the time, and the server works for a moment when somebody asks: its session runs before theirs
 * (sched(7), "The autogroup feature"). Only root may ask for it; a session that is not the server's own stays as it is. */
static void come_before_jobs(void)
{
        FILE *file = getsid(0) == getpid() ? fopen("/proc/self/autogroup", "we") : NULL;

        if (!file)
                return;
        fputs("-10", file);
        (void)fclose(file);
}

static bool open_log(const ServerOptions *options, GError **error)
{
        bool json = strcmp(options->log_format, "json") == 0;
        LogLevel level;

        if (!log_level_parse(options->log_level, &level, error))
                return err_prefix(error, "--log-level: ");
        if (!json && strcmp(options->log_format, "text") != 0)
                return err_set(error, ERR_USAGE, "--log-format: '%s' is neither text nor json",
                               options->log_format);
        log_open(level, json);
        return true;
}

/* Prints --help, --man or --version; true if one of them was given. */
static bool answer_question(const ServerOptions *options)
{
        g_autofree char *text = options->help      ? server_help()
                                : options->man     ? server_man()
                                : options->version ? g_strdup("paddled " PADDLE_VERSION "\n")
                                                   : NULL;

        if (text)
                fputs(text, stdout);
        return text != NULL;
}

static int fail(const GError *error)
{
        fprintf(stderr, "paddled: %s\n", error->message);
        return err_row(error)->exit;
}

static int run(Server *server, int argc, char **argv)
{
        g_autoptr(GError) error = NULL;
        bool opened;

        if (!server_options_read(&server->options, argc, argv, &error) || !open_log(&server->options, &error))
                return fail(error);
        if (answer_question(&server->options))
                return 0;
        raise_limits();
        come_before_jobs();
        listen_to_signals(server);
        opened = server_open(server, &error);
        if (opened)
                serve(server);
        server_close(server);
        g_main_loop_unref(server->loop);
        return opened ? 0 : fail(error);
}

int main(int argc, char **argv)
{
        Server server = { 0 };
        int status;

        json_init();
        umask(077);
        signal(SIGPIPE, SIG_IGN);
        status = run(&server, argc, argv);
        options_clear(server_options, &server.options);
        return status;
}
