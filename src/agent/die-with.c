/* Dying with the parent (see die-with.h). */
#include "agent/die-with.h"

#include <sys/prctl.h>
#include <unistd.h>

void die_with(pid_t parent, int signal)
{
        (void)prctl(PR_SET_PDEATHSIG, signal);
        if (getppid() != parent) /* it died before the line above */
                _exit(127);
}
