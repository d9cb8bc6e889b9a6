/* Terminate a process together with its parent (see die-with.h). */
#include "agent/die-with.h"

#include <sys/prctl.h>
#include <unistd.h>

void die_with(pid_t parent, int signal)
{
        (void)prctl(PR_SET_PDEATHSIG, signal);
        if (getppid() != parent) /* the parent died before prctl() */
                _exit(127);
}
