/* The audit log over HTTP, for administrators (doc/guide/audit.md). Files are read: on the pool. */
#include "api/v1/internal.h"

#include "base/err.h"

enum { USER_BYTES_MAX = 128 };

static void list_lines(HttpRequest *request, void *arg)
{
        Api *api = arg;
        AuditQuery query = { .user = http_request_query(request, "user") };
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) items = NULL, reply = NULL;
        gint64 limit;

        if (!http_request_query_int(request, "since", 0, G_MAXINT64, -1, &query.since) ||
            !http_request_query_int(request, "limit", 1, AUDIT_READ_MAX, 100, &limit))
                return;
        query.limit = (int)limit;
        items = audit_read(api->audit, &query, &error);
        if (!items) {
                http_fail(request, error);
                return;
        }
        reply = json_pack("{s:O}", "items", items);
        http_reply_json(request, 200, reply);
}

static json_t *format_report(const ChainReport *report)
{
        g_autofree char *head = chain_head_format(&report->last);
        json_t *problems = json_array();

        for (guint i = 0; i < report->problems->len; i++)
                json_array_append_new(problems, json_string(report->problems->pdata[i]));
        return json_pack("{s:b, s:I, s:I, s:I, s:I, s:s, s:I, s:o}", "intact", report->n_problems == 0,
                         "files", (json_int_t)report->files, "lines", (json_int_t)report->lines, "first",
                         (json_int_t)report->first, "last", (json_int_t)report->last.seq, "head", head,
                         "n_problems", (json_int_t)report->n_problems, "problems", problems);
}

static void verify(HttpRequest *request, void *arg)
{
        Api *api = arg;
        const char *head = http_request_query(request, "head");
        g_autoptr(GError) error = NULL;
        g_auto(ChainReport) report = { 0 };
        g_autoptr(json_t) reply = NULL;
        ChainHead kept;

        if ((head && !chain_head_parse(head, &kept, &error)) ||
            !chain_check(audit_dir(api->audit), head ? &kept : NULL, &report, &error)) {
                http_fail(request, error);
                return;
        }
        reply = format_report(&report);
        http_reply_json(request, 200, reply);
}

static const HttpParameter list_lines_query[] = {
        { "since", HTTP_INTEGER, "Those with a greater number." },
        { "user", HTTP_STRING, "Only what this user did." },
        { "limit", HTTP_INTEGER, "At most this many, 1 to 1000." },
        { 0 },
};

static const HttpParameter verify_query[] = {
        { "head", HTTP_STRING, "NUMBER:HASH of a line as it was told before, which must be in it." },
        { 0 },
};

const HttpRoute audit_routes[] = {
        { "GET", "/v1/audit", ACCESS_AUDIT, VERB_LIST, list_lines,
          "Lines of the audit log in order of their numbers: the last ones, or those after one.",
          .query = list_lines_query, .reply = "AuditList", .on_pool = true },
        { "GET", "/v1/audit/verify", ACCESS_AUDIT, VERB_SHOW, verify,
          "Check that no line of the audit log was changed, removed, inserted or moved.",
          .query = verify_query, .reply = "AuditReport", .on_pool = true },
        { 0 },
};
