/* What `paddled` can be told: the command line and the configuration file are one table. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/option.h"

typedef struct {
        /* the program, and where its things are */
        char *state, *config, *datacenter, *log_level, *log_format, *uv, *python, *agent;
        bool help, man, version;

        /* listeners: where, TLS, and what each caller may take */
        char *listen, *metrics_listen, *trusted_proxies, *tls_cert, *tls_key, *tls_client_ca;
        gint64 workers, max_connections, max_per_address;
        bool plain_http;

        /* who people are */
        char *run_as, *job_uids, *published, *token_expire, *require_second_factor;
        gint64 token_expire_ms; /* of token_expire; 0: never */
        bool open_queues;

        /* what the machine has, and its order */
        char *cpus, *memory, *node_labels, *topology, *job_templates;
        gint64 gpus, half_life_ms, cooldown_ms;
        GPtrArray *resources; /* char *: "NAME=AMOUNT" */

        /* limits of members and of submissions */
        char *log_limit, *new_privileges;
        gint64 max_processes, max_user_processes, max_open_jobs, max_open_per_user, submit_rate;

        /* the disk: limits of users, and what goes by itself */
        char *user_disk, *user_files, *project_quota, *project_ids;
        GPtrArray *gc; /* char *: "KIND=AGE[,SIZE]" */
        gint64 gc_every_ms;

        /* how long ended jobs and their events are kept, on the disk and in a cluster */
        gint64 keep_events, keep_finished_ms, succeeded_ttl_s, failed_ttl_s, pending_ttl_s;
        bool clean_jobs, keep_failed;

        /* a directory that knows passwords */
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

/* Command line over configuration file over defaults. ERR_USAGE or ERR_INVALID name the option, and the file
 * if it was one. */
bool server_options_read(ServerOptions *options, int argc, char *const *argv, GError **error);

char *server_help(void); /* the text of --help; the caller's */
char *server_man(void);  /* paddled.8; the caller's */
