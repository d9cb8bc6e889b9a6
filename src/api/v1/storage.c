/* Disk usage of users, and garbage collection: /v1/storage/... */
#include "api/v1/internal.h"

#include <string.h>

#include "base/clock.h"
#include "base/err.h"

static json_t *amount_or_null(gint64 amount)
{
        return amount > 0 ? json_integer(amount) : json_null();
}

static json_t *format_kinds(const DiskUse *use)
{
        json_t *kinds = json_object();

        for (int i = 0; i < DISK_KINDS; i++)
                json_object_set_new(kinds, disk_kind_name(i),
                                    json_pack("{s:I, s:I}", "bytes", (json_int_t)use->of[i].bytes, "files",
                                              (json_int_t)use->of[i].files));
        return kinds;
}

static json_t *format_use(Api *api, const char *user)
{
        DiskAmount limit, sum;
        DiskUse use;

        ledger_use(api->ledger, user, &use, &limit);
        sum = disk_use_sum(&use);
        return json_pack("{s:s, s:I, s:I, s:o, s:o, s:s, s:o}", "user", user, "bytes", (json_int_t)sum.bytes,
                         "files", (json_int_t)sum.files, "limit_bytes", amount_or_null(limit.bytes),
                         "limit_files", amount_or_null(limit.files), "enforced_by",
                         projects_have(api->projects, user) ? "kernel" : "counting", "kinds",
                         format_kinds(&use));
}

/* A user who was deleted may hold something still. */
static bool check_holder(Api *api, const char *user, GError **error)
{
        DiskAmount limit, sum;
        DiskUse use;

        ledger_use(api->ledger, user, &use, &limit);
        sum = disk_use_sum(&use);
        return sum.bytes > 0 || sum.files > 0 || api_check_user(api, user, error);
}

/* All that hold something; else one user, whether they do or not. */
static json_t *list_uses(Api *api, const char *user)
{
        json_t *items = json_array();
        g_autoptr(GPtrArray) users = NULL;

        if (user) {
                json_array_append_new(items, format_use(api, user));
                return items;
        }
        users = ledger_users(api->ledger);
        for (guint i = 0; i < users->len; i++)
                json_array_append_new(items, format_use(api, users->pdata[i]));
        return items;
}

static bool may_see(const HttpCaller *caller, const char *user, GError **error)
{
        bool own = user && strcmp(user, caller->user) == 0;

        return auth_may(caller, ACCESS_STORAGE, VERB_SHOW, own, false) ||
               err_set(error, ERR_DENIED, "only administrators see what others hold (you are '%s')",
                       caller->user);
}

static void show_usage(HttpRequest *request, void *arg)
{
        Api *api = arg;
        const HttpCaller *caller = http_request_caller(request);
        const char *user = http_request_query(request, "user");
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) reply = NULL;
        g_autofree char *time = NULL;
        bool all, count;
        gint64 counted;

        if (!api_query_flag(request, "all", &all, &error) ||
            !api_query_flag(request, "count", &count, &error) ||
            !may_see(caller,
                     all    ? NULL
                     : user ? user
                            : caller->user,
                     &error) ||
            (count && !janitor_survey(api->janitor, &error)) ||
            (user && !all && strcmp(user, caller->user) != 0 && !check_holder(api, user, &error))) {
                http_fail(request, error);
                return;
        }
        if (user && !all)
                http_request_set_owner(request, user); /* what an administrator looks at is recorded */
        counted = ledger_surveyed(api->ledger);
        time = counted ? clock_format(counted) : NULL;
        reply = json_pack("{s:o, s:s?}", "items",
                          list_uses(api, all    ? NULL
                                         : user ? user
                                                : caller->user),
                          "counted_at", time);
        http_reply_json(request, 200, reply);
}

static json_t *format_removals(const GPtrArray *removals, bool dry)
{
        json_t *items = json_array();
        gint64 bytes = 0, files = 0;

        for (guint i = 0; i < removals->len; i++) {
                const JanitorRemoval *removal = removals->pdata[i];
                g_autofree char *used = clock_format(removal->used);

                if (dry || removal->gone) {
                        bytes += removal->bytes;
                        files += removal->files;
                }
                json_array_append_new(items,
                                      json_pack("{s:s, s:s, s:s?, s:I, s:I, s:s, s:s, s:b}", "kind",
                                                gc_kind_name(removal->kind), "name", removal->name, "user",
                                                removal->user, "bytes", (json_int_t)removal->bytes, "files",
                                                (json_int_t)removal->files, "used_at", used, "why",
                                                removal->why, "gone", removal->gone));
        }
        return json_pack("{s:o, s:b, s:I, s:I}", "items", items, "dry_run", dry, "bytes", (json_int_t)bytes,
                         "files", (json_int_t)files);
}

static void collect_garbage(HttpRequest *request, void *arg)
{
        Api *api = arg;
        g_autoptr(GError) error = NULL;
        g_autoptr(GPtrArray) removals = NULL;
        g_autoptr(json_t) reply = NULL;
        bool dry;

        if (!api_query_flag(request, "dry_run", &dry, &error) ||
            !(removals = janitor_collect(api->janitor, dry, &error))) {
                http_fail(request, error);
                return;
        }
        reply = format_removals(removals, dry);
        http_reply_json(request, 200, reply);
}

static const HttpParameter show_usage_query[] = {
        { "user", HTTP_STRING, "Of this user (administrators)." },
        { "all", HTTP_BOOLEAN, "Of everybody (administrators)." },
        { "count", HTTP_BOOLEAN, "Measure again first." },
        { 0 },
};

static const HttpParameter collect_garbage_query[] = {
        { "dry_run", HTTP_BOOLEAN, "Remove nothing and list what would go." },
        { 0 },
};

const HttpRoute storage_routes[] = {
        { "GET", "/v1/storage/usage", ACCESS_STORAGE, VERB_LIST, show_usage,
          "What the caller holds on the server's disk, and may.", .query = show_usage_query,
          .reply = "StorageUsage", .on_pool = true },
        { "POST", "/v1/storage/gc", ACCESS_STORAGE, VERB_DELETE, collect_garbage,
          "Remove what nothing needs; the reply lists it.", .query = collect_garbage_query,
          .reply = "GarbageList", .on_pool = true },
        { 0 },
};
