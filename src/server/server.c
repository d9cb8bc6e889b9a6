/* The parts of a server in the order in which they open, and their end (see server.h). */
#include "server/server.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/id.h"
#include "base/log.h"
#include "runtime/local/local.h"
#include "server/listeners.h"
#include "server/option-lists.h"

char *server_path(const Server *server, const char *name)
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
                g_autofree char *path = server_path(server, private_dirs[i]);

                if (!file_mkdirs(path, 0700, error))
                        return false;
        }
        return true;
}

/* Deletes unfinished request bodies of a server that died. Needs the store's lock. */
static bool make_temp_dir(const Server *server, GError **error)
{
        g_autofree char *path = server_path(server, "tmp");

        return file_remove_tree(path, error) && file_mkdirs(path, 0700, error);
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
        g_autofree char *path = server_path(server, "server-id");
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
        g_autofree char *path = server_path(server, "secrets.key");

        server->secrets = seal_key_new(path, "secrets");
        return true;
}

static bool use_package(const char *user, const char *hash, void *arg)
{
        return package_store_use(((Server *)arg)->packages, user, hash);
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
                .use_package = use_package,
                .use_package_arg = server,
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
        server->journal = server_path(server, "scheduler");
        config.journal_dir = server->journal;
        if (!describe_node(server, error))
                return false;
        config.node_labels = (const char *const *)server->node_labels;
        server->engine = engine_new(&config, error);
        return server->engine != NULL;
}

static bool open_audit(Server *server, GError **error)
{
        const ServerOptions *options = &server->options;
        g_autofree char *dir = server_path(server, "audit");
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

static bool write_pid(Server *server, GError **error)
{
        g_autofree char *path = server_path(server, "paddled.pid");
        g_autofree char *line = g_strdup_printf("%d\n", (int)getpid());

        return file_replace(path, line, strlen(line), 0644, false, error);
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
        g_autofree char *path = server_path(server, "packages");

        server->packages = package_store_open(path, error);
        if (server->packages)
                package_store_count(server->packages, disk_ledger(server->disk));
        return server->packages != NULL;
}

static bool open_storage(Server *server, GError **error)
{
        g_autofree char *path = server_path(server, "storage");

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
        server_read_lists,
        server_read_sso,
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
        server_open_runtime,
        open_drivers,
        open_engine,
        start_disk,
        /* the interfaces */
        open_audit,
        server_open_auth,
        server_open_sso,
        open_api,
        open_flow,
        server_open_http,
        write_pid,
};

bool server_open(Server *server, GError **error)
{
        for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
                if (!parts[i](server, error))
                        return false;
        return true;
}

void server_close(Server *server)
{
        g_autofree char *pid = server_path(server, "paddled.pid");

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
