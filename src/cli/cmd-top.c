/* paddle top: cluster, queues and jobs, live. */
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "cli/listing.h"
#include "cli/screen.h"
#include "cli/top.h"
#include "cli/verbs.h"

typedef struct {
        Common common;
        gint64 interval_ms;
        bool once;
        char *queue;
} Top;

enum { JOBS = 200, INTERVAL_MIN_MS = 100, SNAPSHOT_WIDTH = 160 };

static const Option options[] = {
        { "interval", 'i', OPTION_DURATION, offsetof(Top, interval_ms), "TIME", "time between two looks",
          .fallback = "1s" },
        { "once", '1', OPTION_BOOL, offsetof(Top, once), NULL, "print it once, as without a terminal" },
        { "queue", 'q', OPTION_STRING, offsetof(Top, queue), "NAME", "only jobs of this queue" },
        COMMON_OPTIONS,
        { 0 },
};

/* State between two refreshes. */
typedef struct {
        Cli *cli;
        const Top *top;
        bool admin;
        char *title, *trouble;
        json_t *figures, *nodes, *running, *waiting;
} TopView;

static void top_view_clear(TopView *view)
{
        g_free(view->title);
        g_free(view->trouble);
        json_decref(view->figures);
        json_decref(view->nodes);
        json_decref(view->running);
        json_decref(view->waiting);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(TopView, top_view_clear)

static json_t *fetch(TopView *view, const char *path, GError **error)
{
        json_t *reply = NULL;

        return http_call_json(view->cli->client, "GET", path, NULL, &reply, error) ? reply : NULL;
}

static json_t *fetch_jobs(TopView *view, const char *states, bool usage, GError **error)
{
        g_autofree char *queue = view->top->queue ? url_escape(view->top->queue) : NULL;
        g_autofree char *path = g_strdup_printf("/v1/jobs?limit=%d&state=%s%s%s%s%s", JOBS, states,
                                                usage ? "&usage=true" : "", view->admin ? "&all=true" : "",
                                                queue ? "&queue=" : "", queue ? queue : "");
        g_autoptr(json_t) reply = fetch(view, path, error);

        return reply ? json_incref(json_object_get(reply, "items")) : NULL;
}

static void replace(json_t **slot, json_t *value)
{
        json_decref(*slot);
        *slot = value;
}

/* Nodes are for administrators; for others the line is missing. */
static bool look(TopView *view, GError **error)
{
        g_autoptr(json_t) figures = fetch(view, "/v1/scheduler", error), running = NULL, waiting = NULL,
                          nodes = NULL;

        if (!figures)
                return false;
        running = fetch_jobs(view, "starting,running,preempting,stopping", true, error);
        if (!running)
                return false;
        waiting = fetch_jobs(view, "submitted,queued,suspended,admitted", false, error);
        if (!waiting)
                return false;
        if (view->admin)
                nodes = fetch(view, "/v1/nodes", NULL);
        replace(&view->figures, g_steal_pointer(&figures));
        replace(&view->running, g_steal_pointer(&running));
        replace(&view->waiting, g_steal_pointer(&waiting));
        replace(&view->nodes, nodes ? json_incref(json_object_get(nodes, "items")) : NULL);
        return true;
}

static bool look_first(TopView *view, GError **error)
{
        g_autoptr(json_t) who = fetch(view, "/v1/whoami", error);

        if (!who)
                return false;
        view->admin = json_is_true(json_object_get(who, "admin"));
        view->title = g_strdup_printf("%s  as %s%s", http_client_url(view->cli->client), text_of(who, "user"),
                                      view->admin ? " (administrator)" : "");
        return look(view, error);
}

static char *draw(const TopView *view, const Terminal *terminal, int height)
{
        TopPicture picture = { .figures = view->figures,
                               .running = view->running,
                               .waiting = view->waiting,
                               .nodes = view->nodes,
                               .title = view->title,
                               .trouble = view->trouble,
                               .now = clock_now_ms() };

        return top_draw(&picture, terminal, height);
}

static void show(TopView *view, Screen *screen)
{
        Terminal terminal = view->cli->terminal;
        g_autofree char *lines = NULL;
        int height;

        screen_size(screen, &terminal.width, &height);
        lines = draw(view, &terminal, height);
        screen_show(screen, lines);
}

/* If the server is unreachable, the last picture stays, with a line that says so. */
static void look_again(TopView *view)
{
        g_autoptr(GError) error = NULL;
        g_autofree char *text = NULL;

        g_clear_pointer(&view->trouble, g_free);
        if (look(view, &error))
                return;
        text = err_text(error);
        view->trouble = g_strdup_printf("not up to date: %s", text);
}

static bool watch(TopView *view, GError **error)
{
        g_autoptr(Screen) screen = screen_open(error);
        int interval = (int)CLAMP(view->top->interval_ms, INTERVAL_MIN_MS, G_MAXINT);
        gint64 due = 0;

        if (!screen)
                return false;
        for (;;) {
                gint64 now = clock_monotonic_ms();

                if (now >= due) {
                        if (due > 0)
                                look_again(view);
                        due = clock_monotonic_ms() + interval;
                }
                show(view, screen);
                if (screen_wait(screen, (int)MAX(due - clock_monotonic_ms(), 0)) == SCREEN_QUIT)
                        return true;
        }
}

static bool run(Cli *cli, const void *target, char *const *words, GError **error)
{
        const Top *top = target;
        g_auto(TopView) view = { .cli = cli, .top = top };
        g_autofree char *lines = NULL;
        Terminal terminal;

        if (!cli_client(cli, error) || !look_first(&view, error))
                return false;
        if (cli->terminal.out_is_terminal && !top->once && isatty(STDIN_FILENO))
                return watch(&view, error);
        terminal = cli->terminal;
        if (!terminal.out_is_terminal)
                terminal.width = MAX(terminal.width, SNAPSHOT_WIDTH);
        lines = draw(&view, &terminal, 0);
        fputs(lines, stdout);
        return true;
}

const Verb verb_top = {
        .name = "top",
        .args = "",
        .summary = "Watch queues, lent and borrowed resources, and why jobs wait",
        .about = "The length of a queue's bar is its max, or the whole cluster; the vertical line is its "
                 "min. Usage below the min is its own, above it is borrowed and may be taken back; the part "
                 "of its min that other queues use is lent. Administrators see the jobs of all users.\n\nq "
                 "quits. Without a terminal it prints once.",
        .options = options,
        .size = sizeof(Top),
        .run = run,
};
