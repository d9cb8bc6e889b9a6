/* Threads that must not wait for the store (see guard.h). */
#include "store/guard.h"

#include <glib.h>

static _Thread_local const char *forbidden_by;

void store_forbid_reads(const char *by)
{
        forbidden_by = by;
}

void store_check_read(void)
{
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
        if (forbidden_by)
                g_error("the store is read by '%s', on a thread that must not wait for it", forbidden_by);
#endif
}
