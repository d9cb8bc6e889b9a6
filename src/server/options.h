/* What `paddled` can be told: the command line and the configuration file are one table. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/option.h"

typedef struct {
        char *state, *listen, *config, *datacenter, *log_level, *log_format, *cpus, *memory, *uv, *python,
                *agent, *log_limit, *run_as, *job_uids, *new_privileges, *sandbox, *no_sandbox, *sandbox_keep,
                *egress, *published, *trusted_proxies, *metrics_listen, *token_expire, *node_labels,
                *topology, *job_templates;
        gint64 gpus, workers, max_connections, keep_events, keep_finished_ms, max_processes, max_open_jobs,
                max_open_per_user, submit_rate, half_life_ms, cooldown_ms, succeeded_ttl_s, failed_ttl_s,
                pending_ttl_s;
        gint64 token_expire_ms; /* of token_expire; 0: never */
        GPtrArray *resources;   /* char *: "NAME=AMOUNT" */
        bool open_queues, clean_jobs, keep_failed, help, man, version;
} ServerOptions;

extern const Option server_options[];

/* Command line over configuration file over defaults. ERR_USAGE or ERR_INVALID name the option, and the file
 * if it was one. */
bool server_options_read(ServerOptions *options, int argc, char *const *argv, GError **error);

char *server_help(void); /* the text of --help; the caller's */
char *server_man(void);  /* paddled.8; the caller's */
