/* Usage of this machine's GPUs, from NVIDIA's library (NVML), which is part of the driver and loaded on first
 * use. Any thread. */
#pragma once

#include <stdbool.h>

#include "runtime/runtime.h"

typedef struct GpuMeter GpuMeter;

GpuMeter *gpu_meter_new(void);
void gpu_meter_free(GpuMeter *meter); /* NULL is a no-op */

/* Usage of /dev/nvidiaMINOR. False: no such GPU, or no library. NVML is called at most once in GPU_METER_MS
 * per GPU. `now`: monotonic ms. */
enum { GPU_METER_MS = 1000 };
bool gpu_meter_get(GpuMeter *meter, unsigned minor, gint64 now, GpuUsage *ret);
