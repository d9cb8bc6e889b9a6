/* The older client's configuration, $HOME/.paddleflow/paddleflow.ini (doc/reference/paddleflow-api.md, "Its
 * configuration file"). */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct {
        char *user, *password, *host;
        int port;
} PaddleFlowConfig;

void paddleflow_config_free(PaddleFlowConfig *config);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PaddleFlowConfig, paddleflow_config_free)

/* `name` is the file's, for messages. ERR_FAILED naming section, key or line. */
PaddleFlowConfig *paddleflow_config_parse(const char *text, const char *name, GError **error);

/* Reads `path`. NULL: the file in the home directory, which is made, with the defaults, when there is none.
 */
PaddleFlowConfig *paddleflow_config_read(const char *path, GError **error);
