/* The rows of all verbs: cmd-*.c, and kinds.c for objects. */
#pragma once

#include "cli/cli.h"

extern const Verb verb_attach, verb_port_forward, verb_shell;

extern const Verb verb_audit_list, verb_audit_verify, verb_cancel, verb_delete, verb_completion, verb_doctor,
        verb_down, verb_download, verb_events, verb_exec, verb_explain, verb_help, verb_hold, verb_init,
        verb_job_submit, verb_list, verb_login, verb_logs, verb_release, verb_requeue, verb_results,
        verb_sched_decisions, verb_sched_journal, verb_sched_replay, verb_set, verb_sim, verb_status,
        verb_submit, verb_pipeline_lint, verb_pipeline_render, verb_pipeline_show, verb_secret_set,
        verb_secret_list, verb_secret_delete, verb_token_create, verb_top, verb_token_list, verb_token_revoke,
        verb_train, verb_up, verb_upload, verb_version, verb_wait, verb_whoami, verb_storage_usage, verb_gc;

extern const Verb verb_schedule_create, verb_schedule_list, verb_schedule_show, verb_schedule_next,
        verb_schedule_stop, verb_schedule_delete;
extern const Verb verb_pipeline_create, verb_pipeline_list, verb_pipeline_update, verb_pipeline_delete;

extern const Verb verb_run_create, verb_run_list, verb_run_show, verb_run_wait, verb_run_stop, verb_run_logs,
        verb_run_retry, verb_run_delete, verb_run_diff, verb_run_explain_cache, verb_run_step,
        verb_run_continue, verb_run_break, verb_run_set;
extern const Verb verb_cache_list, verb_cache_show, verb_cache_delete;
extern const Verb verb_artifact_list, verb_artifact_delete;

extern const Verb verb_storage_ls, verb_storage_du, verb_storage_rm, verb_storage_mv, verb_storage_mkdir;

extern const Verb verb_queue_list, verb_queue_show, verb_queue_create, verb_queue_set, verb_queue_close,
        verb_queue_open, verb_queue_delete;
extern const Verb verb_flavour_list, verb_flavour_show, verb_flavour_create, verb_flavour_set,
        verb_flavour_delete;
extern const Verb verb_nodes;
extern const Verb verb_cluster_list, verb_cluster_show, verb_cluster_create, verb_cluster_set,
        verb_cluster_delete;
extern const Verb verb_user_list, verb_user_show, verb_user_create, verb_user_set, verb_user_totp,
        verb_user_delete;
extern const Verb verb_fs_list, verb_fs_show, verb_fs_create, verb_fs_set, verb_fs_delete;
extern const Verb verb_grant_list, verb_grant_show, verb_grant_create, verb_grant_set, verb_grant_delete;
