/* The list of verbs, in the order of the overview. */
#include "cli/verbs.h"

const Verb *const cli_verbs[] = {
        &verb_submit,     &verb_job_submit,   &verb_train,
        &verb_list,       &verb_status,       &verb_cancel,
        &verb_logs,       &verb_wait,         &verb_events,
        &verb_upload,     &verb_download,     &verb_up,
        &verb_down,       &verb_doctor,       &verb_token_create,
        &verb_token_list, &verb_token_revoke, &verb_version,
        &verb_completion, &verb_help,         NULL,
};
