/* The older client's requests: log-in first, then the one that the command's row describes. */
#pragma once

#include "cli/paddleflow/args.h"
#include "cli/paddleflow/ini.h"
#include "net/client.h"

typedef struct {
        const char *method;
        char *path; /* with its query */
        char *body; /* JSON, or NULL */
} PaddleFlowRequest;

void paddleflow_request_clear(PaddleFlowRequest *request);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(PaddleFlowRequest, paddleflow_request_clear)

/* From the command line to the request. Pure, but for files that options name. */
bool paddleflow_request_build(const PaddleFlowArgs *args, PaddleFlowRequest *ret, GError **error);

/* Logs in and calls. *ret is the reply's JSON, an empty object for an empty one. An error of the server is
 * ERR_FAILED in the older client's words. */
bool paddleflow_call(const PaddleFlowConfig *config, const PaddleFlowArgs *args, json_t **ret,
                     GError **error);
