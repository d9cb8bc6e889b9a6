/* Background threads (see background.h). glibc 2.36 has no sched_setattr. */
#include "base/background.h"

#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's struct, SCHED_ATTR_SIZE_VER0 of <linux/sched/types.h>, which cannot be included together with
 * <sched.h>. */
typedef struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t slice_ns, deadline,
                period; /* slice_ns: sched_runtime, which ordinary threads can set since Linux 6.12 */
} SchedAttributes;

enum { NICE = 10, SLICE_NS = 20 * 1000 * 1000 };

void background_begin(void)
{
        SchedAttributes attributes = {
                .size = sizeof attributes, .policy = SCHED_BATCH, .nice = NICE, .slice_ns = SLICE_NS
        };

        (void)syscall(SYS_sched_setattr, 0, &attributes, 0);
}
