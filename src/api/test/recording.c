/* What becomes a line of the audit log, row by row. */
#include "api/auth/recording.h"

#include <string.h>

#include "model/access.h"

static const HttpParameter gc_query[] = { { "dry_run", HTTP_BOOLEAN, "Remove nothing." }, { 0 } };
static const HttpParameter queue_query[] = { { "x", HTTP_STRING, "A." },
                                             { "what_if", HTTP_BOOLEAN, "Change nothing." },
                                             { 0 } };
static const HttpParameter other_query[] = { { "no_dry_run", HTTP_BOOLEAN, "Not that." },
                                             { "check", HTTP_STRING, "A text." },
                                             { 0 } };

static const HttpRoute login = { "POST", "/v1/login", ACCESS_LOGIN, VERB_CREATE },
                       sso = { "POST", "/v1/login/sso", ACCESS_LOGIN, VERB_CREATE },
                       older_login = { "POST", "/api/paddleflow/v1/login", ACCESS_LOGIN, VERB_CREATE },
                       new_token = { "POST", "/v1/tokens", ACCESS_TOKEN, VERB_CREATE },
                       tokens = { "GET", "/v1/tokens", ACCESS_TOKEN, VERB_LIST },
                       grant = { "DELETE", "/v1/grants/{name...}", ACCESS_GRANT, VERB_DELETE },
                       submit = { "POST", "/v1/jobs", ACCESS_JOB, VERB_CREATE },
                       jobs = { "GET", "/v1/jobs", ACCESS_JOB, VERB_LIST },
                       job = { "GET", "/v1/jobs/{job}", ACCESS_JOB, VERB_SHOW },
                       exec = { "GET", "/v1/jobs/{job}/members/{member}/exec", ACCESS_JOB, VERB_UPDATE },
                       logs = { "GET", "/v1/jobs/{job}/logs", ACCESS_LOG, VERB_SHOW },
                       chunk = { "PUT", "/v1/files/{path...}", ACCESS_FILE, VERB_CREATE },
                       finish = { "POST", "/v1/files/{path...}", ACCESS_FILE, VERB_CREATE },
                       blob = { "PUT", "/v1/packages/blobs/{hash}", ACCESS_PACKAGE, VERB_CREATE },
                       offer = { "POST", "/v1/packages/offer", ACCESS_PACKAGE, VERB_CREATE },
                       commit = { "POST", "/v1/packages/{hash}/commit", ACCESS_PACKAGE, VERB_CREATE },
                       object = { "PUT", "/api/paddleflow/v1/cluster/{c}/k8s/object", ACCESS_CLUSTER,
                                  VERB_UPDATE },
                       gc = { "POST", "/v1/storage/gc", ACCESS_STORAGE, VERB_DELETE, .query = gc_query },
                       queue = { "PUT", "/v1/queues/{name}", ACCESS_QUEUE, VERB_UPDATE,
                                 .query = queue_query },
                       other_name = { "DELETE", "/v1/x", ACCESS_QUEUE, VERB_DELETE, .query = other_query },
                       health = { "GET", "/healthz", ACCESS_SYSTEM, VERB_SHOW };

static const struct {
        const HttpRoute *route;
        const char *user, *owner;
        int status;
        bool denied;
        Recording how;
        const char *outcome;
        bool trial;
} rows[] = {
        { &login, NULL, NULL, 200, false, RECORD_CHANGE, "ok" },
        { &login, NULL, NULL, 401, false, RECORD_REFUSED, "denied" },
        { &login, NULL, NULL, 429, false, RECORD_REFUSED, "denied" },
        { &login, NULL, NULL, 503, false, RECORD_REFUSED, "failed" },
        { &sso, NULL, NULL, 202, false, RECORD_NOT, "ok" }, /* the person is at the issuer */
        { &sso, NULL, NULL, 200, false, RECORD_CHANGE, "ok" },
        { &sso, NULL, NULL, 403, false, RECORD_REFUSED, "denied" },
        { &older_login, NULL, NULL, 400, false, RECORD_REFUSED, "denied" },
        { &new_token, "ann", "ann", 201, false, RECORD_CHANGE, "ok" },
        { &new_token, "ann", NULL, 403, false, RECORD_REFUSED, "denied" },
        { &new_token, "ann", NULL, 400, false, RECORD_REFUSED, "refused" },
        { &tokens, "ann", NULL, 200, false, RECORD_NOT, "ok" },
        { &tokens, "root", "ann", 200, false, RECORD_LOOK, "ok" },
        { &tokens, "root", "root", 200, false, RECORD_NOT, "ok" },
        { &grant, "root", NULL, 204, false, RECORD_CHANGE, "ok" },
        { &grant, "root", NULL, 500, false, RECORD_REFUSED, "failed" },
        { &submit, "ann", NULL, 201, false, RECORD_WORK, "ok" },
        { &submit, "ann", NULL, 409, false, RECORD_REFUSED, "refused" },
        { &jobs, "ann", NULL, 200, false, RECORD_NOT, "ok" },
        { &jobs, NULL, NULL, 401, false, RECORD_REFUSED, "denied" },
        { &jobs, "ann", NULL, 400, false, RECORD_NOT, "refused" },
        { &job, "ann", "ann", 200, false, RECORD_NOT, "ok" },
        { &job, "root", "ann", 200, false, RECORD_LOOK, "ok" },
        { &job, "bob", NULL, 404, true, RECORD_REFUSED, "denied" }, /* another's */
        { &job, "bob", NULL, 404, false, RECORD_NOT, "refused" },
        { &job, "bob", NULL, 500, false, RECORD_NOT, "failed" },
        { &exec, "ann", "ann", 101, false, RECORD_WORK, "ok" },
        { &exec, "bob", NULL, 404, true, RECORD_REFUSED, "denied" },
        { &logs, "root", "ann", 206, false, RECORD_LOOK, "ok" },
        { &chunk, "ann", "ann", 204, false, RECORD_NOT, "ok" },
        { &chunk, "ann", "bob", 403, false, RECORD_REFUSED, "denied" },
        { &finish, "ann", "ann", 200, false, RECORD_WORK, "ok" },
        { &blob, "ann", NULL, 204, false, RECORD_NOT, "ok" },
        { &offer, "ann", NULL, 200, false, RECORD_NOT, "ok" },
        { &commit, "ann", NULL, 200, false, RECORD_WORK, "ok" },
        { &object, "root", NULL, 200, false, RECORD_CHANGE, "ok" },
        { &object, "ann", NULL, 403, true, RECORD_REFUSED, "denied" },
        { &object, "root", NULL, 403, false, RECORD_REFUSED, "refused" },
        { &gc, "root", NULL, 200, false, RECORD_CHANGE, "ok" },
        { &gc, "root", NULL, 200, false, RECORD_NOT, "ok", true },
        { &gc, "ann", NULL, 403, false, RECORD_REFUSED, "denied", true },
        { &submit, "ann", NULL, 200, false, RECORD_NOT, "ok", true },
        { &submit, "ann", NULL, 400, false, RECORD_NOT, "refused", true },
        { &queue, "root", NULL, 200, false, RECORD_NOT, "ok", true },
        { &health, NULL, NULL, 200, false, RECORD_NOT, "ok" },
        { &health, NULL, NULL, 503, false, RECORD_NOT, "failed" },
};

static void test_rows(void)
{
        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_test_message("%s %s as %s: %d", rows[i].route->method, rows[i].route->path,
                               rows[i].user ? rows[i].user : "nobody", rows[i].status);
                g_assert_cmpint(recording_decide(rows[i].route, rows[i].user, rows[i].owner, rows[i].status,
                                                 rows[i].denied, rows[i].trial),
                                ==, rows[i].how);
                g_assert_cmpstr(recording_outcome(rows[i].route, rows[i].status, rows[i].denied), ==,
                                rows[i].outcome);
        }
}

/* The query of a request, "dry_run=true". */
static const char *query_of(const char *name, const void *arg)
{
        const char *text = arg;
        gsize len = strlen(name);

        return g_str_has_prefix(text, name) && text[len] == '=' ? text + len + 1 : NULL;
}

static void test_trials(void)
{
        static const struct {
                const HttpRoute *route;
                const char *query;
                bool trial;
        } cases[] = {
                { &gc, "dry_run=true", true },
                { &gc, "dry_run=false", false },
                { &gc, "dry_run=maybe", false },
                { &gc, "", false },
                { &gc, "what_if=true", false }, /* this route has no such parameter */
                { &queue, "what_if=true", true },
                { &grant, "dry_run=true", false },
                { &other_name, "dry_run=true", false },
                { &other_name, "check=true", false }, /* not a flag there */
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
                g_assert_cmpint(recording_is_trial(cases[i].route, query_of, cases[i].query), ==,
                                cases[i].trial);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/recording/rows", test_rows);
        g_test_add_func("/recording/trials", test_trials);
        return g_test_run();
}
