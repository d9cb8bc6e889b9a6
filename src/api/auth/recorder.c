/* See recorder.h. Lines are written without a tree of JSON: a submission costs a few microseconds here. */
#include "api/auth/recorder.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <string.h>

#include "api/auth/flood.h"
#include "api/auth/internal.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"

enum { TEXT_MAX = 200, LINE_SIZE = 512 /* about */ };

struct Recorder {
        Audit *audit;
        pthread_mutex_t mutex; /* guards flood */
        Flood *flood;
};

/* ---- lines ---- */

/* `name` needs no escapes. */
static void add_text(GString *out, const char *name, const char *text)
{
        char start[TEXT_MAX + 1];

        if (!text)
                return;
        if (g_strlcpy(start, text, sizeof start) > TEXT_MAX)
                text = start;
        g_string_append(out, out->len ? ",\"" : "\"");
        g_string_append(out, name);
        g_string_append(out, "\":");
        json_quote(out, text);
}

static char *action_of(const HttpRoute *route)
{
        static const char *const connections[] = { "/exec", "/attach", "/forward" };

        if (route->kind == ACCESS_LOGIN)
                return g_strdup("login");
        for (gsize i = 0; i < G_N_ELEMENTS(connections); i++)
                if (g_str_has_suffix(route->path, connections[i]))
                        return g_strconcat("job ", connections[i] + 1, NULL);
        return g_strconcat(access_kind_name((AccessKind)route->kind), " ",
                           access_verb_name((AccessVerb)route->verb), NULL);
}

/* The object that the path names: "JOB worker-0". */
static char *subject_of_path(const HttpRequest *request, const char *path)
{
        g_autoptr(GString) out = g_string_new(NULL);

        for (const char *at = path; (at = strchr(at, '{')); at++) {
                g_autofree char *name = g_strndup(at + 1, strcspn(at + 1, ".}"));
                const char *value = http_request_param(request, name);

                if (value && *value)
                        g_string_append_printf(out, "%s%.*s", out->len ? " " : "", TEXT_MAX, value);
        }
        return out->len ? g_string_free(g_steal_pointer(&out), FALSE) : NULL;
}

/* The user of a line: the one of a successful log-in, else the caller. For an unknown caller only the address
 * is written: the text that they send may be a secret in the wrong field, and has no limit. */
static char *line_of(const HttpRequest *request, int status, const HttpNotes *notes)
{
        const HttpRoute *route = http_request_route(request);
        const HttpCaller *caller = http_request_caller(request);
        g_autoptr(GString) out = g_string_sized_new(LINE_SIZE);
        g_autofree char *action = action_of(route), *from_path = NULL;
        bool login = route->kind == ACCESS_LOGIN;
        const char *user = login && status < 400 ? notes->user : caller->user, *subject = notes->subject;

        if (!subject && caller->user)
                subject = from_path = subject_of_path(request, route->path);
        add_text(out, "user", user);
        add_text(out, "token", caller->token);
        add_text(out, "certificate", caller->certificate);
        add_text(out, "address", caller->address);
        add_text(out, "action", action);
        add_text(out, "subject", subject);
        if (g_strcmp0(notes->owner, user) != 0)
                add_text(out, "owner", notes->owner);
        add_text(out, "outcome", recording_outcome(route, status, notes->denied));
        g_string_append_printf(out, ",\"status\":%d", status);
        add_text(out, "method", route->method);
        add_text(out, "route", route->path);
        add_text(out, "request", http_request_id(request));
        return g_string_free(g_steal_pointer(&out), FALSE);
}

/* An IPv6 address counts as its /64. */
static void sender_of(const HttpCaller *caller, char ret[INET6_ADDRSTRLEN + 4])
{
        struct in6_addr address;

        if (inet_pton(AF_INET6, caller->address, &address) == 1) {
                memset(address.s6_addr + 8, 0, 8);
                (void)inet_ntop(AF_INET6, &address, ret, INET6_ADDRSTRLEN);
        } else {
                g_strlcpy(ret, caller->address, INET6_ADDRSTRLEN);
        }
}

static bool is_written(Recorder *recorder, const HttpRequest *request, Recording how, int status,
                       const HttpNotes *notes)
{
        const HttpRoute *route = http_request_route(request);
        const HttpCaller *caller = http_request_caller(request);
        g_autofree char *action = action_of(route), *from_path = NULL, *what = NULL;
        char sender[INET6_ADDRSTRLEN + 4];
        gint64 now = clock_monotonic_ms();
        bool written;

        sender_of(caller, sender);
        if (how == RECORD_LOOK) {
                const char *on = notes->subject;

                if (!on)
                        on = from_path = subject_of_path(request, route->path);
                what = g_strdup_printf("%s\n%s\nok", action, on ? on : notes->owner);
        } else {
                what = g_strdup_printf("%s\n\n%s", action, recording_outcome(route, status, notes->denied));
        }
        pthread_mutex_lock(&recorder->mutex);
        written = how == RECORD_LOOK
                          ? flood_take_repeated(recorder->flood, caller->user, what, now)
                          : flood_take(recorder->flood, caller->user ? caller->user : sender, what, now);
        pthread_mutex_unlock(&recorder->mutex);
        return written;
}

static const char *query_of(const char *name, const void *arg)
{
        return http_request_query(arg, name);
}

bool recorder_record(Recorder *recorder, const HttpRequest *request, int status, void (*done)(void *arg),
                     void *done_arg)
{
        const HttpRoute *route = http_request_route(request);
        g_autofree char *user = NULL, *subject = NULL, *owner = NULL, *line = NULL;
        HttpNotes notes;
        Recording how;

        if (!route)
                return false;
        notes = http_request_notes(request);
        user = notes.user;
        subject = notes.subject;
        owner = notes.owner;
        how = recording_decide(route, http_request_caller(request)->user, notes.owner, status, notes.denied,
                               recording_is_trial(route, query_of, request));
        if (how == RECORD_NOT || ((how == RECORD_LOOK || how == RECORD_REFUSED) &&
                                  !is_written(recorder, request, how, status, &notes)))
                return false;
        line = line_of(request, status, &notes);
        audit_put(recorder->audit, line, how == RECORD_CHANGE, done, done_arg);
        return done != NULL;
}

/* ---- counts ---- */

static void put_count(const char *who, const char *what, gint64 count, void *arg)
{
        Recorder *recorder = arg;
        g_auto(GStrv) parts = g_strsplit(what, "\n", 3); /* action, subject, outcome */
        g_autoptr(GString) out = g_string_new(NULL);

        add_text(out, "who", who);
        add_text(out, "action", parts[0]);
        add_text(out, "subject", *parts[1] ? parts[1] : NULL);
        add_text(out, "outcome", parts[2]);
        g_string_append_printf(out, ",\"count\":%" G_GINT64_FORMAT, count);
        audit_put(recorder->audit, out->str, false, NULL, NULL);
}

static void on_tick(bool last, void *arg)
{
        Recorder *recorder = arg;

        pthread_mutex_lock(&recorder->mutex);
        flood_collect(recorder->flood, clock_monotonic_ms(), last, put_count, recorder);
        pthread_mutex_unlock(&recorder->mutex);
}

Recorder *recorder_new(Audit *audit)
{
        Recorder *recorder = g_new0(Recorder, 1);

        recorder->audit = audit;
        recorder->flood = flood_new();
        pthread_mutex_init(&recorder->mutex, NULL);
        audit_set_tick(audit, on_tick, recorder);
        return recorder;
}

void recorder_free(Recorder *recorder)
{
        if (!recorder)
                return;
        audit_set_tick(recorder->audit, NULL, NULL);
        on_tick(true, recorder);
        flood_free(recorder->flood);
        pthread_mutex_destroy(&recorder->mutex);
        g_free(recorder);
}

bool recorder_admits(Recorder *recorder, const HttpRoute *route, const HttpCaller *caller, GError **error)
{
        g_autofree char *trouble = NULL;

        if (!recording_changes(route) || route->verb == VERB_DELETE ||
            (caller->admin && strcmp(caller->address, "unix") == 0) ||
            !(trouble = audit_trouble(recorder->audit)))
                return true;
        return err_set(error, ERR_UNAVAILABLE,
                       "nothing can be changed now, since the audit log cannot be written: %s\nTell an "
                       "administrator; on the server's machine, over its socket, everything works.",
                       trouble);
}

/* ---- as the server asks ---- */

bool auth_record(const HttpRequest *request, int status, void (*done)(void *arg), void *done_arg, void *arg)
{
        const Auth *auth = arg;

        return auth->config.recorder &&
               recorder_record(auth->config.recorder, request, status, done, done_arg);
}

bool auth_admits(const HttpRoute *route, const HttpCaller *caller, void *arg, GError **error)
{
        const Auth *auth = arg;

        return auth_permits(route, caller, arg, error) &&
               (!auth->config.recorder || recorder_admits(auth->config.recorder, route, caller, error));
}

bool auth_note_login(Auth *auth, HttpRequest *request, const char *user, GError **error)
{
        g_autoptr(Catalog) catalog = engine_catalog(auth->config.engine);
        const User *known = catalog_user(catalog, user);

        if (known)
                http_request_set_subject(request, known->object.name);
        return !auth->config.recorder || recorder_admits(auth->config.recorder, http_request_route(request),
                                                         http_request_caller(request), error);
}

void auth_note_logged_in(HttpRequest *request, const char *user, bool by_directory)
{
        g_autofree char *subject = by_directory ? g_strdup_printf("%s by ldap", user) : NULL;

        http_request_set_user(request, user);
        if (subject)
                http_request_set_subject(request, subject);
}
