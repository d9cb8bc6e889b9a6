/* The options of `paddled`: one table for the command line and the configuration file. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/option.h"

typedef struct {
        /* the program and its directories */
        char *state, *config, *datacenter, *log_level, *log_format, *uv, *python, *agent;
        bool help, man, version;

        /* listeners: addresses, TLS, limits per caller */
        char *listen, *metrics_listen, *trusted_proxies, *tls_cert, *tls_key, *tls_client_ca;
        gint64 workers, max_connections, max_per_address;
        bool plain_http;

        /* users */
        char *run_as, *job_uids, *published, *token_expire, *require_second_factor;
        gint64 token_expire_ms; /* of token_expire; 0: never */
        bool open_queues;

        /* this machine's resources, and the order of jobs */
        char *cpus, *memory, *node_labels, *topology, *job_templates;
        gint64 gpus, half_life_ms, cooldown_ms;
        GPtrArray *resources; /* char *: "NAME=AMOUNT" */

        /* limits of members and of submissions */
        char *log_limit, *new_privileges;
        gint64 max_processes, max_user_processes, max_open_jobs, max_open_per_user, submit_rate,
                schedule_rate, max_parallelism, max_run_mib;

        /* the disk: limits of users, and automatic deletion */
        char *user_disk, *user_files, *project_quota, *project_ids;
        GPtrArray *gc; /* char *: "KIND=AGE[,SIZE]" */
        gint64 gc_every_ms;

        /* how long ended jobs and their events are kept, on the disk and in a cluster */
        gint64 keep_events, keep_finished_ms, succeeded_ttl_s, failed_ttl_s, pending_ttl_s;
        bool clean_jobs, keep_failed;

        /* an LDAP directory */
        char *ldap_url, *ldap_user_dn, *ldap_base, *ldap_filter, *ldap_bind_dn, *ldap_bind_password_file,
                *ldap_ca, *ldap_tls;
        gint64 ldap_timeout_ms;
        bool ldap_create_users;

        /* single sign-on */
        char *oidc_issuer, *oidc_client, *oidc_secret_file, *oidc_ca, *oidc_username;
        gint64 oidc_expire_ms;
        bool oidc_create;

        /* builds of environments */
        char *build_cpus, *build_memory, *build_network, *build_allow;
        gint64 builds, builds_per_user, build_processes, build_limit_ms, idle_ms;
        bool requirement_urls;

        /* sandboxes of members */
        char *sandbox, *no_sandbox, *sandbox_keep, *egress;

        /* the audit log */
        char *audit_size;
        gint64 audit_age_ms, audit_files;
} ServerOptions;

extern const Option server_options[];

/* Precedence: command line, configuration file, defaults. ERR_USAGE or ERR_INVALID name the option, and the
 * file if it is from one. */
bool server_options_read(ServerOptions *options, int argc, char *const *argv, GError **error);

char *server_help(void); /* the text of --help; the caller's */
char *server_man(void);  /* paddled.8; the caller's */
