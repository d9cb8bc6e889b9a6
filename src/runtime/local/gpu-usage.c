/* GPU usage with NVML (see gpu-usage.h). Functions and structures are those of the NVML API reference; these
 * few have not changed since version 2. */
#include "runtime/local/gpu-usage.h"

#include <dlfcn.h>

#include "runtime/local/gpus.h"

typedef void *NvmlDevice;
typedef struct {
        unsigned gpu, memory; /* percent of the time of the last sample */
} NvmlUtilization;
typedef struct {
        unsigned long long total, free, used; /* bytes */
} NvmlMemory;

typedef struct {
        gint64 until;
        bool known;
        GpuUsage usage;
} Reading;

struct GpuMeter {
        GMutex lock;
        bool tried;
        void *library; /* NULL: no library */
        int (*init)(void);
        int (*shutdown)(void);
        int (*count)(unsigned *ret);
        int (*device)(unsigned index, NvmlDevice *ret);
        int (*minor)(NvmlDevice device, unsigned *ret);
        int (*utilization)(NvmlDevice device, NvmlUtilization *ret);
        int (*memory)(NvmlDevice device, NvmlMemory *ret);
        Reading readings[GPU_DEVICES_MAX]; /* by minor number */
};

GpuMeter *gpu_meter_new(void)
{
        GpuMeter *meter = g_new0(GpuMeter, 1);

        g_mutex_init(&meter->lock);
        return meter;
}

static void close_library(GpuMeter *meter)
{
        if (meter->library)
                dlclose(meter->library);
        meter->library = NULL;
}

void gpu_meter_free(GpuMeter *meter)
{
        if (!meter)
                return;
        if (meter->library)
                (void)meter->shutdown(); /* a failure has no consequence */
        close_library(meter);
        g_mutex_clear(&meter->lock);
        g_free(meter);
}

static bool find_functions(GpuMeter *meter)
{
        const struct {
                const char *name;
                void **at;
        } functions[] = {
                { "nvmlInit_v2", (void **)&meter->init },
                { "nvmlShutdown", (void **)&meter->shutdown },
                { "nvmlDeviceGetCount_v2", (void **)&meter->count },
                { "nvmlDeviceGetHandleByIndex_v2", (void **)&meter->device },
                { "nvmlDeviceGetMinorNumber", (void **)&meter->minor },
                { "nvmlDeviceGetUtilizationRates", (void **)&meter->utilization },
                { "nvmlDeviceGetMemoryInfo", (void **)&meter->memory },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(functions); i++)
                if (!(*functions[i].at = dlsym(meter->library, functions[i].name)))
                        return false;
        return true;
}

static bool open_library(GpuMeter *meter)
{
        if (meter->tried)
                return meter->library;
        meter->tried = true;
        meter->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
        if (meter->library && (!find_functions(meter) || meter->init() != 0))
                close_library(meter);
        return meter->library;
}

static bool find_device(GpuMeter *meter, unsigned minor, NvmlDevice *ret)
{
        unsigned n = 0, found;

        if (meter->count(&n) != 0)
                return false;
        for (unsigned i = 0; i < n; i++)
                if (meter->device(i, ret) == 0 && meter->minor(*ret, &found) == 0 && found == minor)
                        return true;
        return false;
}

static bool read_device(GpuMeter *meter, unsigned minor, GpuUsage *ret)
{
        NvmlUtilization utilization;
        NvmlMemory memory;
        NvmlDevice device;

        if (!find_device(meter, minor, &device) || meter->memory(device, &memory) != 0)
                return false;
        *ret = (GpuUsage){ .percent = -1,
                           .memory = (gint64)memory.used,
                           .memory_total = (gint64)memory.total };
        if (meter->utilization(device, &utilization) == 0) /* a GPU with MIG has no utilization */
                ret->percent = (int)utilization.gpu;
        return true;
}

bool gpu_meter_get(GpuMeter *meter, unsigned minor, gint64 now, GpuUsage *ret)
{
        Reading *reading = minor < GPU_DEVICES_MAX ? &meter->readings[minor] : NULL;
        bool known = false;

        if (!reading)
                return false;
        g_mutex_lock(&meter->lock);
        if (now >= reading->until && open_library(meter)) {
                reading->known = read_device(meter, minor, &reading->usage);
                reading->until = now + GPU_METER_MS;
        }
        known = reading->known;
        if (known)
                *ret = reading->usage;
        g_mutex_unlock(&meter->lock);
        return known;
}
