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
        { "state", 's', OPTION_STRING, FIELD(state), "DIR", "state directory, made if missing (required)" },
        { "listen", 'l', OPTION_STRING, FIELD(listen), "ADDR:PORT",
          "TCP address to listen on, or 'none' for the Unix socket alone", .fallback = "127.0.0.1:8999" },
        { "metrics-listen", 0, OPTION_STRING, FIELD(metrics_listen), "ADDR:PORT",
          "TCP address that serves /metrics and nothing else, to anybody; default: none" },
        { "tls-cert", 0, OPTION_STRING, FIELD(tls_cert), "FILE",
          "certificate (PEM, with what leads to its authority) by which all TCP ports speak TLS; read again "
          "on SIGHUP and when it changes" },
        { "tls-key", 0, OPTION_STRING, FIELD(tls_key), "FILE", "its key (PEM)" },
        { "tls-client-ca", 0, OPTION_STRING, FIELD(tls_client_ca), "FILE",
          "authorities (PEM) whose certificates stand for the user whom they name: by a SAN "
          "URI:paddle:user:NAME, else the subject's CN" },
        { "plain-http", 0, OPTION_BOOL, FIELD(plain_http), NULL,
          "listen beyond this machine without TLS, where a proxy speaks it or the network is yours alone" },
        { "token-expire-hours", 0, OPTION_STRING, FIELD(token_expire), "N",
          "how long a log-in lasts; -1: for ever", .fallback = "720" },
        { "published-password", 0, OPTION_STRING, FIELD(published), "ADDRESS,...",
          "let 'root' log in with the password that older clients know, on the Unix socket and from these "
          "addresses, such as 127.0.0.1; never a job, nor through a proxy. Give it from the first start on: "
          "an account that got a random password, or was given one, keeps that" },
        { "require-second-factor", 0, OPTION_STRING, FIELD(require_second_factor),
          "nobody|administrators|everybody",
          "whose log-ins by password need a second factor (`paddle user totp`); who has none yet can only "
          "set it up",
          .fallback = "nobody" },
        { "ldap-url", 0, OPTION_STRING, FIELD(ldap_url), "URL",
          "directory (LDAP) that knows the passwords of users marked by `paddle user set NAME --ldap`: "
          "ldaps://HOST[:PORT], or ldap://HOST[:PORT]" },
        { "ldap-user-dn", 0, OPTION_STRING, FIELD(ldap_user_dn), "DN",
          "where a user is, %s for the name: uid=%s,ou=people,dc=example,dc=org" },
        { "ldap-base", 0, OPTION_STRING, FIELD(ldap_base), "DN",
          "or below what users are looked for, by --ldap-filter" },
        { "ldap-filter", 0, OPTION_STRING, FIELD(ldap_filter), "FILTER", "by which, %s for the name",
          .fallback = "(uid=%s)" },
        { "ldap-bind-dn", 0, OPTION_STRING, FIELD(ldap_bind_dn), "DN",
          "who looks; default: nobody, anonymously" },
        { "ldap-bind-password-file", 0, OPTION_STRING, FIELD(ldap_bind_password_file), "FILE",
          "file with the password of --ldap-bind-dn" },
        { "ldap-ca", 0, OPTION_STRING, FIELD(ldap_ca), "FILE",
          "authorities (PEM) of the directory's certificate; default: those of this machine" },
        { "ldap-tls", 0, OPTION_STRING, FIELD(ldap_tls), "auto|starttls|plain",
          "StartTLS for ldap:// URLs: auto: always but on this machine's loopback; plain: never, so that "
          "passwords cross the network as they are",
          .fallback = "auto" },
        { "ldap-timeout", 0, OPTION_DURATION, FIELD(ldap_timeout_ms), "TIME",
          "how long connecting to it may take, and then all that is asked", .fallback = "5s" },
        { "ldap-create-users", 0, OPTION_BOOL, FIELD(ldap_create_users), NULL,
          "whom the directory alone knows becomes a user at the first log-in, with ordinary rights; a name "
          "that is here already is left alone" },
        { "trusted-proxies", 0, OPTION_STRING, FIELD(trusted_proxies), "ADDRESS,...",
          "proxies whose X-Forwarded-For says who asks; without it all that comes through one is the "
          "proxy's" },
        { "oidc-issuer", 0, OPTION_STRING, FIELD(oidc_issuer), "URL",
          "single sign-on: the issuer of OpenID Connect whose ID tokens open accounts" },
        { "oidc-client-id", 0, OPTION_STRING, FIELD(oidc_client), "ID", "what this server is called there" },
        { "oidc-client-secret-file", 0, OPTION_STRING, FIELD(oidc_secret_file), "FILE",
          "its secret there; default: none (a public client)" },
        { "oidc-ca", 0, OPTION_STRING, FIELD(oidc_ca), "FILE",
          "authorities (PEM) of the issuer's certificate; default: those of the system" },
        { "oidc-create-users", 0, OPTION_BOOL, FIELD(oidc_create), NULL,
          "make an ordinary user at the first log-in of a subject, if the name is free" },
        { "oidc-username-claim", 0, OPTION_STRING, FIELD(oidc_username), "NAME",
          "claim that names such a user; of a verified 'email' the part before the @",
          .fallback = "preferred_username" },
        { "oidc-expire", 0, OPTION_DURATION, FIELD(oidc_expire_ms), "TIME",
          "how long a log-in by single sign-on lasts; never longer than --token-expire-hours",
          .fallback = "12h" },
        { "open-queues", 0, OPTION_BOOL, FIELD(open_queues), NULL,
          "let every user submit to every queue, granted or not" },
        { "submit-rate", 0, OPTION_INT, FIELD(submit_rate), "N",
          "jobs that one user may submit in a minute, on average; 0: no limit", .fallback = "0",
          .max = 100000000 },
        { "node-labels", 0, OPTION_STRING, FIELD(node_labels), "K=V,...",
          "labels of this machine, for jobs and queues that ask for some" },
        { "resource", 0, OPTION_LIST, FIELD(resources), "NAME=AMOUNT",
          "what jobs may ask for in all of a resource, such as rdma/hca=2; may be repeated" },
        { "half-life", 0, OPTION_DURATION, FIELD(half_life_ms), "TIME",
          "of what users used, where the shares of a queue look at it", .fallback = "168h" },
        { "cooldown", 0, OPTION_DURATION, FIELD(cooldown_ms), "TIME",
          "how long a job that was evicted is safe after it has started again", .fallback = "60s" },
        { "topology", 0, OPTION_STRING, FIELD(topology), "KEY,...",
          "label keys from the widest to the tightest, such as zone,rack" },
        { "config", 'c', OPTION_STRING, FIELD(config), "FILE",
          "YAML file whose keys are these options without dashes" },
        { "datacenter", 0, OPTION_STRING, FIELD(datacenter), "NAME", "name of the storage in /pfs/NAME/...",
          .fallback = "local" },
        { "cpus", 0, OPTION_STRING, FIELD(cpus), "N",
          "cores that jobs may ask for in all; default: those of this machine" },
        { "memory", 0, OPTION_STRING, FIELD(memory), "SIZE",
          "memory that jobs may ask for in all; default: that of this machine" },
        { "gpus", 0, OPTION_INT, FIELD(gpus), "N",
          "GPUs that jobs may ask for in all; 0: those of this machine", .fallback = "0", .max = 1024 },
        { "agent", 0, OPTION_STRING, FIELD(agent), "PROGRAM",
          "the agent; default: paddle-agent beside this program" },
        { "uv", 0, OPTION_STRING, FIELD(uv), "PROGRAM",
          "uv, for Python environments; default: that of PATH, else pip" },
        { "python", 0, OPTION_STRING, FIELD(python), "PROGRAM",
          "interpreter for Python environments; default: python3 of PATH" },
        { "builds", 0, OPTION_INT, FIELD(builds), "N",
          "Python environments that are built at one time; 0: no limit", .fallback = "4", .max = 10000 },
        { "builds-per-user", 0, OPTION_INT, FIELD(builds_per_user), "N", "of them for one user; 0: no limit",
          .fallback = "2", .max = 10000 },
        { "build-cpus", 0, OPTION_STRING, FIELD(build_cpus), "N",
          "cores of one build, counted in the job's queue; 0: no limit", .fallback = "2" },
        { "build-memory", 0, OPTION_STRING, FIELD(build_memory), "SIZE",
          "memory of one build, counted in the job's queue; 0: no limit", .fallback = "4Gi" },
        { "build-processes", 0, OPTION_INT, FIELD(build_processes), "N",
          "processes and threads of one build; 0: no limit", .fallback = "1024", .max = 4194304 },
        { "build-time-limit", 0, OPTION_DURATION, FIELD(build_limit_ms), "TIME",
          "a build that takes longer is ended and fails its jobs; 0: it may", .fallback = "60m" },
        { "build-network", 0, OPTION_STRING, FIELD(build_network), "auto|index|host",
          "what builds reach: the package index alone, or all that the machine does; auto: the index where "
          "the kernel allows",
          .fallback = "auto" },
        { "build-allow", 0, OPTION_STRING, FIELD(build_allow), "HOST[:PORT],...",
          "what builds reach beside the index, such as files.example.com or *.example.com" },
        { "requirement-urls", 0, OPTION_BOOL, FIELD(requirement_urls), NULL,
          "let requirements say where packages come from: URLs, paths, --index-url" },
        { "workers", 0, OPTION_INT, FIELD(workers), "N", "threads that serve requests", .fallback = "2",
          .min = 2, .max = 64 },
        { "max-connections", 0, OPTION_INT, FIELD(max_connections), "N",
          "connections at one time, an eighth for the Unix socket alone; more are answered 503",
          .fallback = "4096", .min = 16, .max = 100000 },
        { "max-connections-per-address", 0, OPTION_INT, FIELD(max_per_address), "N",
          "of them of one address, IPv6 network (/64) or Unix user of this machine; 0: a quarter",
          .fallback = "0", .max = 100000 },
        { "max-open-jobs", 0, OPTION_INT, FIELD(max_open_jobs), "N", "jobs that are not finished at one time",
          .fallback = "1000000", .min = 1, .max = 100000000 },
        { "max-open-jobs-per-user", 0, OPTION_INT, FIELD(max_open_per_user), "N",
          "of them of one user who is not an administrator; 0: a quarter of --max-open-jobs", .fallback = "0",
          .max = 100000000 },
        { "run-as", 0, OPTION_STRING, FIELD(run_as), "user|server",
          "whom members run as when the server is root: the Unix user that their user is, or the server",
          .fallback = "user" },
        { "job-uids", 0, OPTION_STRING, FIELD(job_uids), "FIRST-LAST",
          "uids for users that this machine does not have, one each, never given twice",
          .fallback = JOB_UIDS_DEFAULT },
        { "allow-new-privileges", 0, OPTION_STRING, FIELD(new_privileges), "USER,...",
          "users whose members may gain rights by set-uid programs (sudo): who finds a fault in one of these "
          "becomes root by a job; default: no user" },
        { "sandbox", 0, OPTION_STRING, FIELD(sandbox), "auto|on|off",
          "private /tmp, processes, shared memory, no capabilities and fewer system calls for members that "
          "run as users: as far as this machine can; 'on': or they do not start",
          .fallback = "auto" },
        { "no-sandbox", 0, OPTION_STRING, FIELD(no_sandbox), "USER,...",
          "users whose members have no sandbox; default: no user" },
        { "sandbox-keep", 0, OPTION_STRING, FIELD(sandbox_keep), "DIR,...",
          "directories below /tmp, /var/tmp or /dev/shm that all members go on to see; the state directory "
          "is always one" },
        { "egress", 0, OPTION_STRING, FIELD(egress), "ADDRESS[/BITS][:PORT],...",
          "all that members that run as users may connect to, beside loopback; [ADDRESS]/BITS:PORT for IPv6; "
          "'none': nothing; default: everything" },
        { "max-processes", 0, OPTION_INT, FIELD(max_processes), "N",
          "processes and threads of one member; 0: no limit", .fallback = "4096", .max = 4194304 },
        { "max-processes-per-user", 0, OPTION_INT, FIELD(max_user_processes), "N",
          "of all members of one user, and of commands beside them; 0: a quarter of what the kernel has room "
          "for",
          .fallback = "0", .max = 4194304 },
        { "log-limit", 0, OPTION_STRING, FIELD(log_limit), "SIZE", "size of one member's log; 0: no limit",
          .fallback = "1Gi" },
        { "user-disk", 0, OPTION_STRING, FIELD(user_disk), "SIZE|N%",
          "what one user who is not an administrator may hold on the disk in all; 0: no limit; default: 25% "
          "of it where the state directory is new, no limit where it is of an older version" },
        { "user-files", 0, OPTION_STRING, FIELD(user_files), "N|N%", "the same in files and directories" },
        { "project-quota", 0, OPTION_STRING, FIELD(project_quota), "auto|on|off",
          "whether the kernel keeps these limits, by project quota: where the file system of the state "
          "directory has it; 'on': or the server does not start; else they are kept by counting",
          .fallback = "auto" },
        { "project-ids", 0, OPTION_STRING, FIELD(project_ids), "FIRST-LAST",
          "project ids for users, one each; one that is used on that file system already is passed over",
          .fallback = PROJECT_IDS_DEFAULT },
        { "gc", 0, OPTION_LIST, FIELD(gc), "KIND=AGE[,SIZE]",
          "what nothing needs is removed after so long unused, and the least recently used when all of its "
          "kind hold more; 0: never; may be repeated; `paddle gc --dry-run` tells the kinds" },
        { "gc-every", 0, OPTION_DURATION, FIELD(gc_every_ms), "TIME",
          "how often that is done; 0: only by `paddle gc`", .fallback = "1h" },
        { "keep-events", 0, OPTION_INT, FIELD(keep_events), "N", "events that are kept",
          .fallback = "1000000", .min = 1000, .max = G_MAXINT64 },
        { "keep-finished", 0, OPTION_DURATION, FIELD(keep_finished_ms), "TIME",
          "finished jobs are forgotten after this time, arrays as a whole; 0: never", .fallback = "0" },
        { "is-clean-job", 0, OPTION_BOOL, FIELD(clean_jobs), NULL,
          "delete what ended jobs leave in their clusters (pods and the objects around them)",
          .fallback = "true" },
        { "succeeded-job-ttl-seconds", 0, OPTION_INT, FIELD(succeeded_ttl_s), "N",
          "so long after the end of a job that succeeded; 0: at once", .fallback = "600",
          .max = TTL_SECONDS_MAX },
        { "failed-job-ttl-seconds", 0, OPTION_INT, FIELD(failed_ttl_s), "N",
          "so long after the end of any other job; 0: at once", .fallback = "3600", .max = TTL_SECONDS_MAX },
        { "pending-job-ttl-seconds", 0, OPTION_INT, FIELD(pending_ttl_s), "N",
          "a job one of whose pods is pending for longer is cancelled; 0: it may wait", .fallback = "0",
          .max = TTL_SECONDS_MAX },
        { "skip-clean-failed-job", 0, OPTION_BOOL, FIELD(keep_failed), NULL, "leave what failed jobs leave" },
        { "job-templates", 0, OPTION_STRING, FIELD(job_templates), "FILE",
          "extension templates of jobs that bring none: YAML documents, the comment at the end of each names "
          "it" },
        { "end-when-idle", 0, OPTION_DURATION, FIELD(idle_ms), "TIME",
          "end after this time without open jobs and without clients; 0: never", .fallback = "0" },
        { "audit-file-size", 0, OPTION_STRING, FIELD(audit_size), "SIZE",
          "size at which the audit log goes on in a new file", .fallback = "16Mi" },
        { "audit-file-age", 0, OPTION_DURATION, FIELD(audit_age_ms), "TIME", "age at which it does; 0: never",
          .fallback = "168h" },
        { "audit-files", 0, OPTION_INT, FIELD(audit_files), "N",
          "files of the audit log that are kept, at least 2; 0: all", .fallback = "64", .max = 1000000 },
        { "log-level", 0, OPTION_STRING, FIELD(log_level), "LEVEL", "error, warning, info or debug",
          .fallback = "info" },
        { "log-format", 0, OPTION_STRING, FIELD(log_format), "FORM", "text or json", .fallback = "text" },
        { "help", 'h', OPTION_BOOL, FIELD(help), NULL, "show this help" },
        { "man", 0, OPTION_BOOL, FIELD(man), NULL, "print the manual page" },
        { "version", 0, OPTION_BOOL, FIELD(version), NULL, "print the version" },
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
