/* The rows of all verbs, each in its own file. */
#pragma once

#include "cli/cli.h"

extern const Verb verb_cancel, verb_completion, verb_doctor, verb_down, verb_download, verb_events, verb_help,
        verb_job_submit, verb_list, verb_logs, verb_status, verb_submit, verb_token_create, verb_token_list,
        verb_token_revoke, verb_train, verb_up, verb_upload, verb_version, verb_wait;
