/* The list of verbs, in the order of the overview. */
#include "cli/verbs.h"

const Verb *const cli_verbs[] = {
        &verb_submit,         &verb_job_submit,
        &verb_train,          &verb_list,
        &verb_status,         &verb_explain,
        &verb_logs,           &verb_wait,
        &verb_events,         &verb_cancel,
        &verb_hold,           &verb_release,
        &verb_requeue,        &verb_set,
        &verb_queue_list,     &verb_queue_show,
        &verb_queue_create,   &verb_queue_set,
        &verb_queue_close,    &verb_queue_open,
        &verb_queue_delete,   &verb_flavour_list,
        &verb_flavour_show,   &verb_flavour_create,
        &verb_flavour_set,    &verb_flavour_delete,
        &verb_cluster_list,   &verb_cluster_show,
        &verb_cluster_create, &verb_cluster_set,
        &verb_cluster_delete, &verb_user_list,
        &verb_user_show,      &verb_user_create,
        &verb_user_set,       &verb_user_delete,
        &verb_grant_list,     &verb_grant_show,
        &verb_grant_create,   &verb_grant_delete,
        &verb_upload,         &verb_download,
        &verb_login,          &verb_whoami,
        &verb_token_create,   &verb_token_list,
        &verb_token_revoke,   &verb_up,
        &verb_down,           &verb_doctor,
        &verb_version,        &verb_completion,
        &verb_help,           NULL,
};

const VerbGroup cli_groups[] = {
        { "Jobs", &verb_submit },       { "Sharing", &verb_queue_list },    { "Files", &verb_upload },
        { "Who you are", &verb_login }, { "Server and program", &verb_up }, { 0 },
};
