/* What all drivers share (see runtime.h). */
#include "runtime/runtime.h"

void observation_free(Observation *observation)
{
        if (!observation)
                return;
        g_free(observation->text);
        g_free(observation);
}
