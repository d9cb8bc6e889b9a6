/* Runs as the store keeps them (see run-record.h). */
#include "model/run-record.h"

#include <string.h>

static const char *const names[NODE_STATES] = {
        [NODE_NONE] = "pending",    [NODE_LOOKING] = "pending",       [NODE_STARTING] = "pending",
        [NODE_RUNNING] = "running", [NODE_STOPPING] = "stopping",     [NODE_SUCCEEDED] = "succeeded",
        [NODE_FAILED] = "failed",   [NODE_TERMINATED] = "terminated", [NODE_CANCELLED] = "cancelled",
        [NODE_SKIPPED] = "skipped",
};

const char *node_state_name(NodeState state)
{
        return names[state];
}

bool node_state_parse(const char *name, NodeState *ret)
{
        for (int state = 0; state < NODE_STATES; state++) {
                if (strcmp(names[state], name) != 0)
                        continue;
                *ret = (NodeState)state;
                return true;
        }
        return false;
}

void run_record_free(RunRecord *record)
{
        if (!record)
                return;
        g_free(record->user);
        g_free(record->name);
        g_free(record->key);
        g_free(record->text);
        g_free(record->request);
        g_free(record->message);
        g_free(record->source);
        g_free(record->fs);
        g_free(record->note);
        g_free(record->hash);
        g_free(record->control);
        g_free(record->retry_id);
        g_free(record);
}

void run_node_record_free(RunNodeRecord *record)
{
        if (!record)
                return;
        g_free(record->message);
        g_free(record->job_id);
        g_free(record->made_id);
        g_free(record->reuse);
        g_free(record);
}

void run_child_record_free(RunChildRecord *record)
{
        if (!record)
                return;
        g_free(record->list);
        g_free(record);
}

void artifact_record_free(ArtifactRecord *record)
{
        if (!record)
                return;
        g_free(record->name);
        g_free(record->user);
        g_free(record->fs);
        g_free(record->path);
        g_free(record->run_id);
        g_free(record->job_id);
        g_free(record);
}
