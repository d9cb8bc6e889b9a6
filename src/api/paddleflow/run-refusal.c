/* What the engine refuses about runs, in the words of this interface: its ids of runs, and no commands of another program. */
#include <string.h>

#include "api/paddleflow/internal.h"
#include "base/id.h"

static const CodeMap codes[] = { { ERR_NOT_FOUND, CODE_RunNotFound }, CODE_MAP_END };

/* "run-000001" in place of the engine's id; NULL: it is none, or there is no `store`. */
static char *own_id(Store *store, const char *word)
{
        g_autoptr(RunRecord) run =
                store && id_is_valid(word) ? store_run_by_id(store, word, false, NULL) : NULL;

        return run ? numbered_id_format("run", run->seq) : NULL;
}

/* Names are in quotes. */
static char *with_own_ids(Store *store, const char *line)
{
        g_auto(GStrv) pieces = g_strsplit(line, "'", -1);

        for (char **piece = pieces; *piece; piece++) {
                char *id = own_id(store, *piece);

                if (!id)
                        continue;
                g_free(*piece);
                *piece = id;
        }
        return g_strjoinv("'", pieces);
}

static bool names_commands(const char *hint)
{
        return strstr(hint, "`paddle ") || strstr(hint, "--");
}

static GError *in_own_words(Store *store, const GError *error)
{
        g_auto(GStrv) lines = g_strsplit(error->message, "\n", 2);
        g_autofree char *first = with_own_ids(store, lines[0] ? lines[0] : "");
        g_autofree char *hint =
                lines[0] && lines[1] && !names_commands(lines[1]) ? with_own_ids(store, lines[1]) : NULL;
        GError *ret = NULL;

        paddleflow_set(&ret, code_of(error, codes), "%s%s%s", first, hint ? "\n" : "", hint ? hint : "");
        return ret;
}

/* ---- on a thread that may read the store ---- */

typedef struct {
        HttpRequest *request;
        PaddleFlow *flow;
        GError *error;
} Refusal;

static void answer(bool stopped, void *arg)
{
        Refusal *refusal = arg;
        Store *store = stopped ? NULL : refusal->flow->store;

        paddleflow_fail(refusal->request, in_own_words(store, refusal->error), NULL);
        http_request_unref(refusal->request);
        g_error_free(refusal->error);
        g_free(refusal);
}

void run_refuse(PaddleFlow *flow, HttpRequest *request, const GError *error)
{
        Refusal *refusal = g_new0(Refusal, 1);

        *refusal = (Refusal){ http_request_ref(request), flow, g_error_copy(error) };
        if (!thread_pool_push(flow->threads, http_request_caller(request)->user, answer, refusal, NULL))
                answer(true, refusal);
}
