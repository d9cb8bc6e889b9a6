/* What `paddled` can be told: the command line and the configuration file are one table. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/option.h"

typedef struct {
        char *state, *listen, *config, *datacenter, *log_level, *log_format, *cpus, *memory, *uv, *python,
                *agent, *log_limit, *run_as, *job_uids, *new_privileges, *published, *trusted_proxies,
                *metrics_listen, *token_expire, *node_labels, *topology, *job_templates, *user_disk,
                *user_files, *require_second_factor;
        gint64 gpus, workers, max_connections, keep_events, keep_finished_ms, max_processes,
                max_user_processes, max_open_jobs, max_open_per_user, submit_rate, half_life_ms, cooldown_ms,
                succeeded_ttl_s, failed_ttl_s, pending_ttl_s, gc_every_ms;
        gint64 token_expire_ms; /* of token_expire; 0: never */
        GPtrArray *resources;   /* char *: "NAME=AMOUNT" */
        GPtrArray *gc;          /* char *: "KIND=AGE[,SIZE]" */
        bool open_queues, clean_jobs, keep_failed, help, man, version;

        /* a directory that knows passwords */
        char *ldap_url, *ldap_user_dn, *ldap_base, *ldap_filter, *ldap_bind_dn, *ldap_bind_password_file,
                *ldap_ca, *ldap_tls;
        gint64 ldap_timeout_ms;
        bool ldap_create_users;

        /* listeners: TLS, and what each caller may take */
        char *tls_cert, *tls_key, *tls_client_ca;
        gint64 max_per_address;
        bool plain_http;

        /* builds of environments */
        char *build_cpus, *build_memory, *build_network, *build_allow;
        gint64 builds, builds_per_user, build_processes, build_limit_ms;
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
