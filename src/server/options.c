/* Options of paddled (see options.h). */
#include "server/options.h"

#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/number.h"
#include "base/yaml.h"
#include "runtime/local/identity.h"
#include "storage/project-table.h"

enum { EXPIRE_HOURS_MAX = 100 * 366 * 24 };
#define TTL_SECONDS_MAX (100LL * 366 * 24 * 3600)

#define FIELD(name) offsetof(ServerOptions, name)

const Option server_options[] = {
        { "state", 's', OPTION_STRING, FIELD(state), "DIR", "state directory, made if missing (required)",
          .group = "General" },
        { "config", 'c', OPTION_STRING, FIELD(config), "FILE",
          "YAML file whose keys are these options without dashes" },
        { "datacenter", 0, OPTION_STRING, FIELD(datacenter), "NAME", "name of the storage in /pfs/NAME/...",
          .fallback = "local" },
        { "end-when-idle", 0, OPTION_DURATION, FIELD(idle_ms), "TIME",
          "end after this time without open jobs and without clients; 0: never", .fallback = "0" },
        { "log-level", 0, OPTION_STRING, FIELD(log_level), "LEVEL", "error, warning, info or debug",
          .fallback = "info" },
        { "log-format", 0, OPTION_STRING, FIELD(log_format), "FORM", "text or json", .fallback = "text" },
        { "help", 'h', OPTION_BOOL, FIELD(help), NULL, "show this help" },
        { "man", 0, OPTION_BOOL, FIELD(man), NULL, "print the manual page" },
        { "version", 0, OPTION_BOOL, FIELD(version), NULL, "print the version" },
        { "listen", 'l', OPTION_STRING, FIELD(listen), "ADDR:PORT",
          "TCP address to listen on, or 'none' for the Unix socket alone", .fallback = "127.0.0.1:8999",
          .group = "Addresses, TLS and connections" },
        { "metrics-listen", 0, OPTION_STRING, FIELD(metrics_listen), "ADDR:PORT",
          "TCP address that serves only /metrics, without authentication; default: none" },
        { "tls-cert", 0, OPTION_STRING, FIELD(tls_cert), "FILE",
          "certificate (PEM, with intermediate certificates) for TLS on all TCP ports; read again on SIGHUP "
          "and when it changes" },
        { "tls-key", 0, OPTION_STRING, FIELD(tls_key), "FILE", "private key (PEM) of --tls-cert" },
        { "tls-client-ca", 0, OPTION_STRING, FIELD(tls_client_ca), "FILE",
          "authorities (PEM) of client certificates, which log in the user that they name: by a SAN "
          "URI:paddle:user:NAME, otherwise by the subject's CN" },
        { "plain-http", 0, OPTION_BOOL, FIELD(plain_http), NULL,
          "listen beyond this machine without TLS, if a proxy provides it or the network is private" },
        { "trusted-proxies", 0, OPTION_STRING, FIELD(trusted_proxies), "ADDRESS,...",
          "proxies whose X-Forwarded-For header is trusted; without it, a request through a proxy counts as "
          "the proxy's" },
        { "workers", 0, OPTION_INT, FIELD(workers), "N", "threads that serve requests", .fallback = "2",
          .min = 2, .max = 64 },
        { "max-connections", 0, OPTION_INT, FIELD(max_connections), "N",
          "concurrent connections, an eighth of them reserved for the Unix socket; more are answered 503",
          .fallback = "4096", .min = 16, .max = 100000 },
        { "max-connections-per-address", 0, OPTION_INT, FIELD(max_per_address), "N",
          "concurrent connections of one address, IPv6 network (/64) or Unix user of this machine; 0: a "
          "quarter of --max-connections",
          .fallback = "0", .max = 100000 },
        { "token-expire-hours", 0, OPTION_STRING, FIELD(token_expire), "N",
          "how long a log-in lasts; -1: for ever", .fallback = "720", .group = "Log-ins" },
        { "published-password", 0, OPTION_STRING, FIELD(published), "ADDRESS,...",
          "let 'root' log in with the password that older clients know, on the Unix socket and from these "
          "addresses, such as 127.0.0.1; never from a job or through a proxy. Give it from the first start "
          "on: a password that 'root' has already stays valid" },
        { "require-second-factor", 0, OPTION_STRING, FIELD(require_second_factor),
          "nobody|administrators|everybody",
          "users whose log-ins by password need a second factor (`paddle user totp`); without one they can "
          "only set it up",
          .fallback = "nobody" },
        { "ldap-url", 0, OPTION_STRING, FIELD(ldap_url), "URL",
          "LDAP directory that checks the passwords of users with `paddle user set NAME --ldap`: "
          "ldaps://HOST[:PORT], or ldap://HOST[:PORT]",
          .group = "Log-ins by an LDAP directory" },
        { "ldap-user-dn", 0, OPTION_STRING, FIELD(ldap_user_dn), "DN",
          "DN of a user, with %s for the name: uid=%s,ou=people,dc=example,dc=org" },
        { "ldap-base", 0, OPTION_STRING, FIELD(ldap_base), "DN",
          "DN below which users are searched with --ldap-filter, instead of --ldap-user-dn" },
        { "ldap-filter", 0, OPTION_STRING, FIELD(ldap_filter), "FILTER",
          "filter of this search, with %s for the name", .fallback = "(uid=%s)" },
        { "ldap-bind-dn", 0, OPTION_STRING, FIELD(ldap_bind_dn), "DN",
          "DN for the search; default: anonymous" },
        { "ldap-bind-password-file", 0, OPTION_STRING, FIELD(ldap_bind_password_file), "FILE",
          "file with the password of --ldap-bind-dn" },
        { "ldap-ca", 0, OPTION_STRING, FIELD(ldap_ca), "FILE",
          "authorities (PEM) of the directory's certificate; default: those of this machine" },
        { "ldap-tls", 0, OPTION_STRING, FIELD(ldap_tls), "auto|starttls|plain",
          "StartTLS for ldap:// URLs; auto: always except on loopback; plain: never, so that passwords are "
          "sent unencrypted",
          .fallback = "auto" },
        { "ldap-timeout", 0, OPTION_DURATION, FIELD(ldap_timeout_ms), "TIME",
          "time limit for connecting to it, and for all requests of a log-in", .fallback = "5s" },
        { "ldap-create-users", 0, OPTION_BOOL, FIELD(ldap_create_users), NULL,
          "create an ordinary user at the first log-in of a user of the directory, if the name is free" },
        { "oidc-issuer", 0, OPTION_STRING, FIELD(oidc_issuer), "URL",
          "single sign-on: the OpenID Connect issuer whose ID tokens are accepted",
          .group = "Single sign-on" },
        { "oidc-client-id", 0, OPTION_STRING, FIELD(oidc_client), "ID", "client id of this server there" },
        { "oidc-client-secret-file", 0, OPTION_STRING, FIELD(oidc_secret_file), "FILE",
          "file with its client secret; default: none (a public client)" },
        { "oidc-ca", 0, OPTION_STRING, FIELD(oidc_ca), "FILE",
          "authorities (PEM) of the issuer's certificate; default: those of the system" },
        { "oidc-create-users", 0, OPTION_BOOL, FIELD(oidc_create), NULL,
          "create an ordinary user at the first log-in of a subject, if the name is free" },
        { "oidc-username-claim", 0, OPTION_STRING, FIELD(oidc_username), "NAME",
          "claim with the name of such a user; for a verified 'email' the part before the @",
          .fallback = "preferred_username" },
        { "oidc-expire", 0, OPTION_DURATION, FIELD(oidc_expire_ms), "TIME",
          "how long a log-in by single sign-on lasts; never longer than --token-expire-hours",
          .fallback = "12h" },
        { "cpus", 0, OPTION_STRING, FIELD(cpus), "N", "total cores for jobs; default: those of this machine",
          .group = "What this machine offers" },
        { "memory", 0, OPTION_STRING, FIELD(memory), "SIZE",
          "total memory for jobs; default: that of this machine" },
        { "gpus", 0, OPTION_INT, FIELD(gpus), "N", "total GPUs for jobs; 0: those of this machine",
          .fallback = "0", .max = 1024 },
        { "resource", 0, OPTION_LIST, FIELD(resources), "NAME=AMOUNT",
          "total of another resource for jobs, such as rdma/hca=2; may be repeated" },
        { "node-labels", 0, OPTION_STRING, FIELD(node_labels), "K=V,...",
          "labels of this machine, for jobs and queues that select nodes" },
        { "agent", 0, OPTION_STRING, FIELD(agent), "PROGRAM",
          "the agent; default: paddle-agent beside this program" },
        { "open-queues", 0, OPTION_BOOL, FIELD(open_queues), NULL,
          "let every user submit to every queue, with or without a grant", .group = "Queues and scheduling" },
        { "submit-rate", 0, OPTION_INT, FIELD(submit_rate), "N",
          "jobs that one user may submit per minute, on average; 0: no limit", .fallback = "0",
          .max = 100000000 },
        { "schedule-rate", 0, OPTION_INT, FIELD(schedule_rate), "N",
          "runs that the schedules of one user who is not an administrator may create per minute, on average, skipped "
          "runs included; 0: no limit",
          .fallback = "1000", .max = 100000000 },
        { "max-open-jobs", 0, OPTION_INT, FIELD(max_open_jobs), "N", "jobs that are not finished at one time",
          .fallback = "1000000", .min = 1, .max = 100000000 },
        { "max-open-jobs-per-user", 0, OPTION_INT, FIELD(max_open_per_user), "N",
          "the same for one user who is not an administrator; 0: a quarter of --max-open-jobs",
          .fallback = "0", .max = 100000000 },
        { "max-parallelism", 0, OPTION_INT, FIELD(max_parallelism), "N",
          "steps of one run of a pipeline that may run at once, at most", .fallback = "20", .min = 1,
          .max = 10000 },
        { "max-run-mib-per-user", 0, OPTION_INT, FIELD(max_run_mib), "N",
          "MiB of the database that the runs of one user who is not an administrator may take, with those that have "
          "ended; 0: no limit",
          .fallback = "4096", .max = 1000000000 },
        { "half-life", 0, OPTION_DURATION, FIELD(half_life_ms), "TIME",
          "half-life of past usage, for queues with fair order", .fallback = "168h" },
        { "cooldown", 0, OPTION_DURATION, FIELD(cooldown_ms), "TIME",
          "time after its restart during which an evicted job is not evicted again", .fallback = "60s" },
        { "topology", 0, OPTION_STRING, FIELD(topology), "KEY,...",
          "label keys from the largest group of nodes to the smallest, such as zone,rack" },
        { "job-templates", 0, OPTION_STRING, FIELD(job_templates), "FILE",
          "extension templates for jobs without one: YAML documents, each named by the comment at its end" },
        { "uv", 0, OPTION_STRING, FIELD(uv), "PROGRAM",
          "uv, for Python environments; default: uv in PATH, otherwise pip",
          .group = "Python environments and builds" },
        { "python", 0, OPTION_STRING, FIELD(python), "PROGRAM",
          "interpreter for Python environments; default: python3 of PATH" },
        { "builds", 0, OPTION_INT, FIELD(builds), "N",
          "Python environments that are built at one time; 0: no limit", .fallback = "4", .max = 10000 },
        { "builds-per-user", 0, OPTION_INT, FIELD(builds_per_user), "N",
          "Python environments that are built at one time for one user; 0: no limit", .fallback = "2",
          .max = 10000 },
        { "build-cpus", 0, OPTION_STRING, FIELD(build_cpus), "N",
          "cores of one build, counted in the job's queue; 0: no limit", .fallback = "2" },
        { "build-memory", 0, OPTION_STRING, FIELD(build_memory), "SIZE",
          "memory of one build, counted in the job's queue; 0: no limit", .fallback = "4Gi" },
        { "build-processes", 0, OPTION_INT, FIELD(build_processes), "N",
          "processes and threads of one build; 0: no limit", .fallback = "1024", .max = 4194304 },
        { "build-time-limit", 0, OPTION_DURATION, FIELD(build_limit_ms), "TIME",
          "time limit of a build; a longer one is stopped and its jobs fail; 0: no limit",
          .fallback = "60m" },
        { "build-network", 0, OPTION_STRING, FIELD(build_network), "auto|index|host",
          "network of builds: the package index only, or all that this machine can reach; auto: the index if "
          "the kernel supports it",
          .fallback = "auto" },
        { "build-allow", 0, OPTION_STRING, FIELD(build_allow), "HOST[:PORT],...",
          "other hosts that builds can reach, such as files.example.com or *.example.com" },
        { "requirement-urls", 0, OPTION_BOOL, FIELD(requirement_urls), NULL,
          "allow other sources of packages in requirements: URLs, paths, --index-url" },
        { "run-as", 0, OPTION_STRING, FIELD(run_as), "user|server",
          "account of members if the server runs as root: the Unix user of the job's user, or the server's",
          .fallback = "user", .group = "Members of jobs" },
        { "job-uids", 0, OPTION_STRING, FIELD(job_uids), "FIRST-LAST",
          "uids for users without an account on this machine, one each, never reused",
          .fallback = JOB_UIDS_DEFAULT },
        { "allow-new-privileges", 0, OPTION_STRING, FIELD(new_privileges), "USER,...",
          "users whose members may gain rights with set-uid programs (sudo): a bug in one of these lets a "
          "job become root; default: no user" },
        { "sandbox", 0, OPTION_STRING, FIELD(sandbox), "auto|on|off",
          "private /tmp, processes and shared memory, no capabilities and fewer system calls for members "
          "that run as users; auto: the parts that this machine supports; on: all parts, or they do not "
          "start",
          .fallback = "auto" },
        { "no-sandbox", 0, OPTION_STRING, FIELD(no_sandbox), "USER,...",
          "users whose members have no sandbox; default: no user" },
        { "sandbox-keep", 0, OPTION_STRING, FIELD(sandbox_keep), "DIR,...",
          "directories below /tmp, /var/tmp or /dev/shm that stay visible to all members; always includes "
          "the state directory" },
        { "egress", 0, OPTION_STRING, FIELD(egress), "ADDRESS[/BITS][:PORT],...",
          "addresses that members running as users may connect to, besides loopback; [ADDRESS]/BITS:PORT for "
          "IPv6; 'none': nothing; default: everything" },
        { "max-processes", 0, OPTION_INT, FIELD(max_processes), "N",
          "processes and threads of one member; 0: no limit", .fallback = "4096", .max = 4194304 },
        { "max-processes-per-user", 0, OPTION_INT, FIELD(max_user_processes), "N",
          "processes and threads of all members of one user and of commands beside them; 0: a quarter of the "
          "kernel's limit",
          .fallback = "0", .max = 4194304 },
        { "log-limit", 0, OPTION_STRING, FIELD(log_limit), "SIZE", "size of one member's log; 0: no limit",
          .fallback = "1Gi" },
        { "user-disk", 0, OPTION_STRING, FIELD(user_disk), "SIZE|N%",
          "disk limit of a user who is not an administrator; 0: no limit; default: 25% of the disk for a new "
          "state directory, no limit for one of an older version",
          .group = "Disk" },
        { "user-files", 0, OPTION_STRING, FIELD(user_files), "N|N%",
          "limit of files and directories of a user, as --user-disk" },
        { "project-quota", 0, OPTION_STRING, FIELD(project_quota), "auto|on|off",
          "whether the kernel enforces these limits with project quotas; auto: if the state directory's file "
          "system has them; on: required; otherwise the server counts",
          .fallback = "auto" },
        { "project-ids", 0, OPTION_STRING, FIELD(project_ids), "FIRST-LAST",
          "project ids for users, one each; ids in use on that file system are skipped",
          .fallback = PROJECT_IDS_DEFAULT },
        { "gc", 0, OPTION_LIST, FIELD(gc), "KIND=AGE[,SIZE]",
          "delete unneeded files of a kind after this time unused, and the least recently used if the kind "
          "exceeds the size; 0: never; may be repeated; `paddle gc --dry-run` lists the kinds" },
        { "gc-every", 0, OPTION_DURATION, FIELD(gc_every_ms), "TIME",
          "interval of garbage collection; 0: only by `paddle gc`", .fallback = "1h" },
        { "keep-events", 0, OPTION_INT, FIELD(keep_events), "N", "events that are kept",
          .fallback = "1000000", .min = 1000, .max = G_MAXINT64 },
        { "keep-finished", 0, OPTION_DURATION, FIELD(keep_finished_ms), "TIME",
          "finished jobs are deleted after this time, arrays as a whole; 0: never", .fallback = "0" },
        { "is-clean-job", 0, OPTION_BOOL, FIELD(clean_jobs), NULL,
          "delete what ended jobs leave in their clusters (pods and the objects around them)",
          .fallback = "true", .group = "Ended jobs in clusters" },
        { "succeeded-job-ttl-seconds", 0, OPTION_INT, FIELD(succeeded_ttl_s), "N",
          "delete these this long after a job has succeeded; 0: at once", .fallback = "600",
          .max = TTL_SECONDS_MAX },
        { "failed-job-ttl-seconds", 0, OPTION_INT, FIELD(failed_ttl_s), "N",
          "delete these this long after any other job has ended; 0: at once", .fallback = "3600",
          .max = TTL_SECONDS_MAX },
        { "pending-job-ttl-seconds", 0, OPTION_INT, FIELD(pending_ttl_s), "N",
          "a job is cancelled if one of its pods is pending for longer; 0: no limit", .fallback = "0",
          .max = TTL_SECONDS_MAX },
        { "skip-clean-failed-job", 0, OPTION_BOOL, FIELD(keep_failed), NULL,
          "keep the objects of failed jobs" },
        { "audit-file-size", 0, OPTION_STRING, FIELD(audit_size), "SIZE",
          "size at which the audit log starts a new file", .fallback = "16Mi", .group = "Audit log" },
        { "audit-file-age", 0, OPTION_DURATION, FIELD(audit_age_ms), "TIME",
          "age at which it starts a new "
          "file; 0: never",
          .fallback = "168h" },
        { "audit-files", 0, OPTION_INT, FIELD(audit_files), "N",
          "number of audit log files to keep, at least 2; 0: all", .fallback = "64", .max = 1000000 },
        { 0 },
};

/* A scalar of the file as the text that the command line would have. */
static char *scalar_text(const json_t *value)
{
        if (json_is_string(value))
                return g_strdup(json_string_value(value));
        if (json_is_integer(value) || json_is_boolean(value) || json_is_real(value))
                return json_format(value);
        return NULL;
}

static bool apply_scalar(ServerOptions *options, const char *path, const char *name, const json_t *value,
                         GError **error)
{
        g_autofree char *setting = scalar_text(value);

        if (!setting)
                return err_set(error, ERR_INVALID, "'%s': option '%s' needs one value, not a list", path,
                               name);
        return options_set(server_options, options, name, setting, error) ||
               err_prefix(error, "'%s': ", path);
}

static bool is_list(const char *name)
{
        for (const Option *option = server_options; option->name; option++)
                if (strcmp(option->name, name) == 0)
                        return option->type == OPTION_LIST;
        return false;
}

/* An option that may be repeated on the command line is a list in the file. */
static bool apply_value(ServerOptions *options, const char *path, const char *name, const json_t *value,
                        GError **error)
{
        const json_t *item;
        size_t i;

        if (!json_is_array(value) || !is_list(name))
                return apply_scalar(options, path, name, value, error);
        json_array_foreach(value, i, item) {
                if (!apply_scalar(options, path, name, item, error))
                        return false;
        }
        return true;
}

static bool apply_file(ServerOptions *options, const char *path, GError **error)
{
        g_autofree char *text = NULL;
        g_autoptr(json_t) file = NULL;
        const char *name;
        json_t *value;
        gsize len;

        if (!file_read(path, 1 << 20, &text, &len, error))
                return false;
        file = yaml_parse(text, len, path, error);
        if (!file)
                return false;
        if (json_is_null(file))
                return true;
        if (!json_is_object(file))
                return err_set(error, ERR_INVALID, "'%s' is not a list of 'option: value' lines", path);
        json_object_foreach(file, name, value) {
                if (!apply_value(options, path, name, value, error))
                        return false;
        }
        return true;
}

static bool parse_line(ServerOptions *options, int argc, char *const *argv, GError **error)
{
        g_auto(GStrv) rest = NULL;

        if (!options_parse(server_options, options, argc - 1, argv + 1, false, &rest, error))
                return false;
        if (rest && rest[0])
                return err_set(error, ERR_USAGE, "'%s' is not an option of paddled\nSee `paddled --help`.",
                               rest[0]);
        return true;
}

static bool read_token_expire(ServerOptions *options, GError **error)
{
        gint64 hours = 0;

        if (strcmp(options->token_expire, "-1") != 0 &&
            !number_parse("--token-expire-hours", options->token_expire, 1, EXPIRE_HOURS_MAX, &hours, error))
                return err_prefix(error, "-1 means for ever; else ");
        options->token_expire_ms = hours * 3600 * 1000;
        return true;
}

bool server_options_read(ServerOptions *options, int argc, char *const *argv, GError **error)
{
        options_set_defaults(server_options, options);
        if (!parse_line(options, argc, argv, error))
                return false;
        if (options->help || options->man || options->version)
                return true;
        if (options->config) {
                g_autofree char *path = g_strdup(options->config);

                options_clear(server_options, options);
                options_set_defaults(server_options, options);
                if (!apply_file(options, path, error) || !parse_line(options, argc, argv, error))
                        return false;
        }
        if (!options->state)
                return err_set(
                        error, ERR_USAGE,
                        "--state is missing\nName a directory for the server's state: paddled --state DIR");
        return read_token_expire(options, error);
}

char *server_help(void)
{
        g_autofree char *options = options_help(server_options, 100);

        return g_strconcat("usage: paddled --state DIR [options]\n\nThe server of the Paddle job platform. "
                           "SIGTERM stops it and leaves jobs "
                           "running; a later start finds them again.\n\n",
                           options, NULL);
}

char *server_man(void)
{
        g_autofree char *options = options_man(server_options);

        return g_strconcat(".TH PADDLED 8 \"\" \"paddle " PADDLE_VERSION "\" \"System administration\"\n"
                           ".SH NAME\npaddled \\- server of the Paddle job platform\n"
                           ".SH SYNOPSIS\n.B paddled\n--state DIR [options]\n"
                           ".SH DESCRIPTION\nServes the REST interface, keeps jobs and events in "
                           "DIR/paddle.db, and runs jobs through paddle-agent. "
                           "SIGTERM stops it and leaves jobs running; a later start finds them again.\n"
                           ".SH OPTIONS\n",
                           options,
                           ".SH FILES\nDIR/paddle.db, DIR/paddled.sock, DIR/paddled.pid, DIR/jobs, "
                           "DIR/packages, DIR/envs, DIR/storage\n"
                           ".SH SEE ALSO\n.BR paddle (1),\n.BR paddle-agent (8)\n",
                           NULL);
}
