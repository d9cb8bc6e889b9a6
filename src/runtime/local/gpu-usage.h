/* What this machine's GPUs do, by NVIDIA's own library (NVML), which the driver brings; it is loaded when it
 * is first asked for. Any thread. */
#pragma once

#include <stdbool.h>

#include "runtime/runtime.h"

typedef struct GpuMeter GpuMeter;

GpuMeter *gpu_meter_new(void);
void gpu_meter_free(GpuMeter *meter); /* NULL is a no-op */

/* Of /dev/nvidiaMINOR. False: there is no such GPU, or no library. Asked at most once in GPU_METER_MS for
 * each. `now`: monotonic ms. */
enum { GPU_METER_MS = 1000 };
bool gpu_meter_get(GpuMeter *meter, unsigned minor, gint64 now, GpuUsage *ret);
