/* States and lines of a run (see run-words.h). */
#include "cli/run-words.h"

#include <string.h>

#include "base/number.h"
#include "cli/listing.h"
#include "net/url.h"

const char run_between_reasons[] = "; step '";

char *run_path(const char *run, const char *suffix)
{
        g_autofree char *escaped = url_escape(run);

        return g_strdup_printf("/v1/runs/%s%s", escaped, suffix);
}

bool run_step_is_queued(const json_t *step)
{
        static const char *const words[] = { "submitted", "queued", "suspended", NULL };

        return strcmp(text_of(step, "state"), "running") == 0 &&
               g_strv_contains(words, text_of(step, "job_state"));
}

const char *run_step_word(const json_t *step)
{
        return run_step_is_queued(step) ? "queued" : text_of(step, "state");
}

const char *run_state_word(const json_t *run)
{
        const char *state = text_of(run, "state");

        return int_of(run, "paused") > 0 && strcmp(state, "running") == 0 ? "paused" : state;
}

char *run_lost_line(const json_t *lost)
{
        return g_strdup_printf("%s: its file %s is gone, so it runs again", text_of(lost, "step"),
                               text_of(lost, "path"));
}

bool run_is_final(const json_t *run)
{
        const char *state = text_of(run, "state");

        return strcmp(state, "running") != 0 && strcmp(state, "stopping") != 0;
}
char *run_took(const json_t *item, const char *from, const char *to)
{
        gint64 begun = time_of(item, from), ended = time_of(item, to);

        return begun && ended ? duration_format(MAX(ended - begun, 0)) : NULL;
}
