/* Retries (see retry.h). */
#include "cli/retry.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"

enum { PATIENCE_MS = 60000, PAUSE_FIRST_MS = 50, PAUSE_MAX_MS = 2000 };

void retry_init(Retry *retry, const char *hint)
{
        retry_join(retry, hint, NULL);
}

void retry_join(Retry *retry, const char *hint, RetryVoice *voice)
{
        *retry = (Retry){ .voice = voice,
                          .hint = hint,
                          .pause_ms = { .first = PAUSE_FIRST_MS, .max = PAUSE_MAX_MS } };
}

/* True for the one that reports the loss. */
static bool set_lost(Retry *retry, gint64 now)
{
        retry->lost_at = now;
        return !retry->voice || g_atomic_int_add(&retry->voice->lost, 1) == 0;
}

static bool set_found(Retry *retry)
{
        if (retry->lost_at == 0)
                return false;
        retry->lost_at = 0;
        return !retry->voice || g_atomic_int_dec_and_test(&retry->voice->lost);
}

bool retry_is_worth(const GError *error)
{
        return err_is(error, ERR_UNREACHABLE) || err_is(error, ERR_UNAVAILABLE) || err_is(error, ERR_TIMEOUT);
}

bool retry_succeeded(Retry *retry)
{
        backoff_reset(&retry->pause_ms);
        return set_found(retry);
}

/* The cause without the request: the end of "GET unix:/x/paddled.sock/v1/jobs/x/logs: the connection broke
 * off". */
static char *short_cause(const GError *cause)
{
        g_autofree char *text = err_text(cause);
        const char *colon = strstr(text, ": ");

        return g_strdup(g_ascii_isupper(text[0]) && g_ascii_isupper(text[1]) && colon ? colon + 2 : text);
}

/* Takes ownership of `cause`. The message differs for a server that answers. */
static bool give_up(const Retry *retry, const Cli *cli, GError *cause, GError **error)
{
        g_autoptr(GError) own = cause;
        g_autofree char *why = err_is(own, ERR_UNREACHABLE) ? NULL : err_line(own->message);

        if (why)
                return err_set(error, ERR_UNREACHABLE,
                               "no connection within %d s: %s\nThe job itself is not touched. %s",
                               PATIENCE_MS / 1000, why, retry->hint);
        return err_set(error, ERR_UNREACHABLE,
                       "the server at '%s' did not come back within %d s; the job itself is not touched\n"
                       "`paddle doctor` looks for what is wrong. %s",
                       http_client_url(cli->client), PATIENCE_MS / 1000, retry->hint);
}

bool retry_after(Retry *retry, const Cli *cli, GError *cause, GError **error)
{
        gint64 now = clock_monotonic_ms();

        if (cause && !retry_is_worth(cause)) {
                (void)set_found(retry); /* the error is shown instead */
                g_propagate_error(error, cause);
                return false;
        }
        if (cause && retry->lost_at == 0 && set_lost(retry, now)) {
                g_autofree char *why = short_cause(cause);

                cli_say(cli, "paddle: connection lost (%s); retrying for up to %d s", why,
                        PATIENCE_MS / 1000);
        }
        if (cause && now - retry->lost_at >= PATIENCE_MS) {
                (void)set_found(retry);
                return give_up(retry, cli, cause, error);
        }
        g_clear_error(&cause);
        usleep((useconds_t)backoff_next(&retry->pause_ms) * 1000);
        return true;
}
