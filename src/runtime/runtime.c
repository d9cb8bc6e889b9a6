/* What all drivers share (see runtime.h). */
#include "runtime/runtime.h"

void runtime_node_free(RuntimeNode *node)
{
        if (!node)
                return;
        g_free(node->name);
        g_strfreev(node->labels);
        g_free(node);
}

void observation_free(Observation *observation)
{
        if (!observation)
                return;
        g_free(observation->text);
        g_free(observation);
}
