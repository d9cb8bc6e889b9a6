/* See recording.h. */
#include "api/auth/recording.h"

#include <string.h>

#include "base/number.h"
#include "model/access.h"

/* Pieces of what is recorded once it is whole. */
static bool is_piece(const HttpRoute *route)
{
        static const char *const paths[] = { "/v1/packages/offer", "/v1/packages/blobs",
                                             "/v1/packages/blobs/{hash}" };

        for (gsize i = 0; i < G_N_ELEMENTS(paths); i++)
                if (strcmp(route->path, paths[i]) == 0)
                        return true;
        return route->kind == ACCESS_FILE && strcmp(route->method, "PUT") == 0;
}

bool recording_changes(const HttpRoute *route)
{
        return route->verb != VERB_LIST && route->verb != VERB_SHOW && route->verb != VERB_NONE;
}

static bool has_flag(const HttpRoute *route, const char *name)
{
        for (const HttpParameter *parameter = route->query; parameter && parameter->name; parameter++)
                if (parameter->type == HTTP_BOOLEAN && strcmp(parameter->name, name) == 0)
                        return true;
        return false;
}

/* On a route without such a parameter the handler does not look at it: there it makes nothing a trial. */
bool recording_is_trial(const HttpRoute *route, const char *(*query)(const char *name, const void *arg),
                        const void *arg)
{
        static const char *const names[] = { "dry_run", "what_if", "check" };

        for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
                const char *text = has_flag(route, names[i]) ? query(names[i], arg) : NULL;
                bool trial = false;

                if (text && boolean_parse(names[i], text, &trial, NULL) && trial)
                        return true;
        }
        return false;
}

/* The older interface answers 403 to much that is only in the way: it says by itself what it denies. */
static bool is_denied(const HttpRoute *route, int status, bool denied)
{
        bool by_status = status == 401 || (status == 403 && !g_str_has_prefix(route->path, "/api/"));

        return denied || by_status || (route->kind == ACCESS_LOGIN && status < 500);
}

Recording recording_decide(const HttpRoute *route, const char *user, const char *owner, int status,
                           bool denied, bool trial)
{
        bool changes = recording_changes(route) && !trial;

        if (status >= 400)
                return changes || is_denied(route, status, denied) ? RECORD_REFUSED : RECORD_NOT;
        if (route->kind == ACCESS_LOGIN && status == 202) /* it goes on */
                return RECORD_NOT;
        if (!changes)
                return owner && user && strcmp(owner, user) != 0 ? RECORD_LOOK : RECORD_NOT;
        if (is_piece(route))
                return RECORD_NOT;
        return route->kind == ACCESS_JOB || route->kind == ACCESS_FILE || route->kind == ACCESS_PACKAGE
                       ? RECORD_WORK
                       : RECORD_CHANGE;
}

const char *recording_outcome(const HttpRoute *route, int status, bool denied)
{
        if (status < 400)
                return "ok";
        return is_denied(route, status, denied) ? "denied" : status < 500 ? "refused" : "failed";
}
