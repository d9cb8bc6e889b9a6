/* Fuzz target: a machine room, a line of "%%", and a trace: what both parsers take is simulated for a while.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "sim/simulate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_refusal(const GError *error)
{
        return err_is(error, ERR_INVALID) || err_is(error, ERR_TOO_LARGE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static const char separator[] = "\n%%\n";
        const char *text = (const char *)data, *middle = memmem(text, size, separator, strlen(separator));
        g_autoptr(GError) error = NULL;
        g_autoptr(Room) room = NULL;
        g_autoptr(Trace) trace = NULL;
        Simulation simulation;

        if (!middle)
                return 0;
        room = room_parse(text, (gsize)(middle - text), "room", &error);
        if (!room) {
                g_assert_true(is_refusal(error));
                return 0;
        }
        middle += strlen(separator);
        trace = trace_parse(middle, (gsize)(text + size - middle), "trace", room, &error);
        if (!trace) {
                g_assert_true(is_refusal(error));
                return 0;
        }
        if (trace_jobs(trace) > 1000)
                return 0;
        if (simulate(room, trace, &(SimulateOptions){ .max_passes = 200 }, &simulation, &error)) {
                g_autoptr(json_t) json = simulation_format(&simulation);

                g_assert_nonnull(json);
                simulation_clear(&simulation);
        }
        g_assert_no_error(error);
        return 0;
}
