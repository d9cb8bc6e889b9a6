/* The cache against a server that answers as the test says: what it reports, in which order, and what it asks
 * for next. The letters: + added, ~ modified, - deleted, S synced, ! trouble, * well again, ? poisoned. */
#include "kube/cache.h"

#include "base/json.h"
#include "kube/test/rogue.h"

enum { NEVER_MS = 600000 };

typedef struct {
        Rogue rogue;
        KubeClient *client;
        KubeCache *cache;
        GString *seen;
        char free_at; /* frees the cache when this is to be noted */
} Fixture;

static void note(Fixture *fixture, char what, const char *name)
{
        g_string_append_printf(fixture->seen, "%c%s ", what, name);
        if (what == fixture->free_at)
                g_clear_pointer(&fixture->cache, kube_cache_free);
}

static void on_changed(KubeCache *cache, const json_t *old, const json_t *new, void *arg)
{
        note(arg, !old ? '+' : !new ? '-' : '~', kube_name(new ? new : old));
}

static void on_synced(KubeCache *cache, void *arg)
{
        g_assert_true(kube_cache_is_synced(cache));
        note(arg, 'S', "");
}

static void on_relisted(KubeCache *cache, void *arg)
{
        note(arg, 'R', "");
}

static void on_trouble(KubeCache *cache, const GError *error, gint64 retry_ms, void *arg)
{
        note(arg, error ? '!' : '*', error ? err_row(error)->word : "");
}

static void on_poisoned(KubeCache *cache, const GError *error, void *arg)
{
        note(arg, '?', err_row(error)->word);
}

static void by_label(const json_t *object, GPtrArray *ret_values)
{
        const char *value = kube_label(object, "l");

        if (value)
                g_ptr_array_add(ret_values, g_strdup(value));
}

static void by_two(const json_t *object, GPtrArray *ret_values)
{
        g_ptr_array_add(ret_values, g_strdup("all"));
        g_ptr_array_add(ret_values, g_strdup(kube_name(object)));
}

static const KubeIndexFunc indexes[] = { by_label, by_two, NULL };

static void drop_data(json_t *object)
{
        json_object_del(object, "data");
}

static void open_cache(Fixture *fixture, gint64 idle_ms)
{
        KubeCacheConfig config = { .kind = kube_config_maps,
                                   .namespace = "n",
                                   .label_selector = "a=b",
                                   .indexes = indexes,
                                   .trim = drop_data,
                                   .page = 2,
                                   .idle_ms = idle_ms };
        KubeCacheEvents events = { .changed = on_changed,
                                   .synced = on_synced,
                                   .relisted = on_relisted,
                                   .trouble = on_trouble,
                                   .poisoned = on_poisoned,
                                   .arg = fixture };
        fixture->cache = kube_cache_new(fixture->client, &config, &events);
}

static void begin_with(Fixture *fixture, const RogueRow *rows, gint64 idle_ms)
{
        *fixture = (Fixture){ .seen = g_string_new(NULL) };
        rogue_start(&fixture->rogue, rows);
        fixture->client = rogue_client(&fixture->rogue, "", &(KubeClientOptions){ .retries = 1 });
        open_cache(fixture, idle_ms);
}

/* With a server that may be late. */
static void begin(Fixture *fixture, const RogueRow *rows)
{
        begin_with(fixture, rows, NEVER_MS);
}

static void end(Fixture *fixture)
{
        kube_cache_free(fixture->cache);
        kube_client_free(fixture->client);
        rogue_stop(&fixture->rogue);
        g_string_free(fixture->seen, TRUE);
}

static void until(Fixture *fixture, const char *seen)
{
        run_until(strcmp(fixture->seen->str, seen) == 0 || fixture->seen->len > strlen(seen) + 8);
        g_assert_cmpstr(fixture->seen->str, ==, seen);
}

#define OBJECT(name, version)                                                                                \
        "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"n\",\"resourceVersion\":\"" version            \
        "\",\"labels\":{\"l\":\"" version "\"},\"managedFields\":[1]},\"data\":{\"x\":\"y\"}}"
#define LIST(version, resume, items)                                                                         \
        "{\"kind\":\"ConfigMapList\",\"metadata\":{\"resourceVersion\":\"" version                           \
        "\",\"continue\":\"" resume "\"},\"items\":[" items "]}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define BOOKMARK(version) EVENT("BOOKMARK", "{\"metadata\":{\"resourceVersion\":\"" version "\"}}")
#define EXPIRED                                                                                              \
        "{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\",\"message\":\"too old resource version\"}"
#define STATUS(line, body) HEAD(line) "Connection: close\r\n\r\n" body
#define CHUNKED HEAD("200 OK") "Transfer-Encoding: chunked\r\n\r\n"

/* Pages, then events, a bookmark, and the resumption from it. */
static void test_life(void)
{
        static const RogueRow rows[] = {
                { "limit=2 ", 0, ROGUE_REPLY, LIST("10", "next", OBJECT("a", "1") "," OBJECT("b", "2")), 0 },
                { "continue=next ", 0, ROGUE_REPLY, LIST("10", "", OBJECT("c", "3")), 0 },
                { "resourceVersion=10&", 1, ROGUE_CLOSE,
                  STREAM EVENT("ADDED", OBJECT("d", "11")) EVENT("MODIFIED", OBJECT("a", "12"))
                          EVENT("DELETED", OBJECT("b", "13")) EVENT("DELETED", OBJECT("zz", "13"))
                                  BOOKMARK("20"),
                  0 },
                { "resourceVersion=20&", 1, ROGUE_CLOSE, STREAM EVENT("MODIFIED", OBJECT("e", "21")), 0 },
                { "resourceVersion=21&", 0, ROGUE_HOLD, STREAM, 0 },
                { NULL, 0, 0, NULL, 0 },
        };
        Fixture fixture;

        begin(&fixture, rows);
        g_assert_false(kube_cache_is_synced(fixture.cache));
        until(&fixture, "+a +b +c S +d ~a -b +e ");
        run_until(rogue_count(&fixture.rogue, "resourceVersion=21&") > 0);
        g_assert_cmpuint(kube_cache_size(fixture.cache), ==, 4);
        const json_t *a = kube_cache_get(fixture.cache, "n", "a");
        g_assert_cmpstr(kube_resource_version(a), ==, "12");
        g_assert_cmpstr(kube_get_text(a, "kind"), ==, "ConfigMap");
        g_assert_cmpstr(kube_get_text(a, "apiVersion"), ==, "v1");
        g_assert_null(kube_get(a, "data"));
        g_assert_null(kube_get(a, "metadata.managedFields"));
        g_assert_null(kube_cache_get(fixture.cache, "n", "b"));
        g_assert_null(kube_cache_get(fixture.cache, NULL, "a"));
        g_assert_cmpint(rogue_count(&fixture.rogue, "labelSelector=a%3Db"), ==, 5);
        g_assert_cmpint(rogue_count(&fixture.rogue, "allowWatchBookmarks=true"), ==, 3);
        /* Indexes: a moved from 1 to 12, b is gone. */
        g_assert_null(kube_cache_find(fixture.cache, 0, "1"));
        g_assert_null(kube_cache_find(fixture.cache, 0, "2"));
        g_assert_true(kube_cache_find(fixture.cache, 0, "12")->pdata[0] == a);
        g_assert_cmpuint(kube_cache_find(fixture.cache, 1, "all")->len, ==, 4);
        g_assert_cmpuint(kube_cache_find(fixture.cache, 1, "a")->len, ==, 1);
        end(&fixture);
}

/* 410 as a reply and as an event: a new list, and only what differs is reported. */
static void test_gone(void)
{
        static const RogueRow rows[] = {
                { "limit=2 ", 1, ROGUE_REPLY, LIST("10", "", OBJECT("a", "1") "," OBJECT("b", "2")), 0 },
                { "limit=2 ", 1, ROGUE_REPLY, LIST("30", "", OBJECT("a", "1") "," OBJECT("c", "25")), 0 },
                { "limit=2 ", 0, ROGUE_REPLY, LIST("40", "", OBJECT("c", "35")), 0 },
                { "resourceVersion=10&", 0, ROGUE_CLOSE, STATUS("410 Gone", EXPIRED), 0 },
                { "resourceVersion=30&", 1, ROGUE_CLOSE, STREAM BOOKMARK("31"), 0 },
                { "resourceVersion=31&", 0, ROGUE_HOLD, STREAM EVENT("ERROR", EXPIRED), 0 },
                { "resourceVersion=40&", 0, ROGUE_HOLD, STREAM, 0 },
                { NULL, 0, 0, NULL, 0 },
        };
        Fixture fixture;

        begin(&fixture, rows);
        until(&fixture, "+a +b S +c -b R ~c -a R ");
        run_until(rogue_count(&fixture.rogue, "resourceVersion=40&") > 0);
        g_assert_cmpuint(kube_cache_size(fixture.cache), ==, 1);
        end(&fixture);
}

/* A server that says 410 always is not asked without end. */
static void test_always_gone(void)
{
        static const RogueRow rows[] = {
                { "limit=2 ", 0, ROGUE_REPLY, LIST("10", "", OBJECT("a", "1")), 0 },
                { "watch=1", 0, ROGUE_CLOSE, STATUS("410 Gone", EXPIRED), 0 },
                { NULL, 0, 0, NULL, 0 },
        };
        Fixture fixture;
        gint64 began = g_get_monotonic_time();

        begin(&fixture, rows);
        until(&fixture, "+a S R !gone * R !gone * R ");
        g_assert_cmpint(g_get_monotonic_time() - began, >=, 200000); /* 0.1 and 0.2 s at least */
        g_assert_cmpint(rogue_count(&fixture.rogue, "limit=2"), ==, 4);
        end(&fixture);
}

/* The pages of the list took too long: it begins anew, at last in one piece. */
static void test_expired_pages(void)
{
        static const RogueRow rows[] = {
                { "continue=next ", 0, ROGUE_CLOSE, STATUS("410 Gone", EXPIRED), 0 },
                { "limit=2 ", 1, ROGUE_REPLY, LIST("10", "next", OBJECT("a", "1") "," OBJECT("b", "2")), 0 },
                { "limit=2 ", 1, ROGUE_REPLY, LIST("11", "next", OBJECT("b", "2")), 0 },
                { "labelSelector=a%3Db ", 0, ROGUE_REPLY,
                  LIST("12", "", OBJECT("b", "2") "," OBJECT("c", "12")), 0 },
                { "resourceVersion=12&", 0, ROGUE_HOLD, STREAM, 0 },
                { NULL, 0, 0, NULL, 0 },
        };
        Fixture fixture;

        begin(&fixture, rows);
        until(&fixture, "+a +b +c -a S ");
        end(&fixture);
}

/* What cannot be read is left out, the others come; the watch goes on. */
static void test_poisoned(void)
{
        static const RogueRow rows[] = {
                { "limit=2 ", 0, ROGUE_REPLY, LIST("10", "", "{\"metadata\":nope}," OBJECT("a", "1") ",{}"),
                  0 },
                { "resourceVersion=10&", 1, ROGUE_CLOSE,
                  STREAM "{\"type\":\"ADDED\",\"object\":{\"metadata\":nope}}{\"type\":\"NEW\",\"object\":{}}"
                         "{}" EVENT("ADDED", OBJECT("b", "11")),
                  0 },
                { "resourceVersion=11&", 1, ROGUE_CLOSE, STREAM "[" EVENT("ADDED", OBJECT("x", "12")), 0 },
                { "resourceVersion=11&", 1, ROGUE_CLOSE, STREAM EVENT("ADDED", OBJECT("c", "12")), 0 },
                { "resourceVersion=12&", 0, ROGUE_HOLD, STREAM, 0 },
                { NULL, 0, 0, NULL, 0 },
        };
        Fixture fixture;

        begin(&fixture, rows);
        until(&fixture, "?unavailable +a ?invalid S ?unavailable ?invalid ?invalid +b !invalid * +c ");
        end(&fixture);
}

/* Chunks that end anywhere, with a keep-alive connection. */
static void test_chunks(void)
{
        GString *raw = g_string_new(CHUNKED);
        const char *events = EVENT("ADDED", OBJECT("b", "11")) EVENT("ADDED", OBJECT("c", "12"));

        for (gsize at = 0; at < strlen(events); at += 7) {
                int part = (int)MIN(7, strlen(events) - at);

                g_string_append_printf(raw, "%x\r\n%.*s\r\n", (unsigned)part, part, events + at);
        }
        g_string_append(raw, "0\r\n\r\n");
        const RogueRow rows[] = {
                { "limit=2 ", 0, ROGUE_BYTEWISE, STREAM LIST("10", "", OBJECT("a", "1")), 0 },
                { "resourceVersion=10&", 0, ROGUE_BYTEWISE, raw->str, 0 },
                { "resourceVersion=12&", 0, ROGUE_HOLD, STREAM, 0 },
                { NULL, 0, 0, NULL, 0 },
        };
        Fixture fixture;

        begin(&fixture, rows);
        until(&fixture, "+a S +b +c ");
        end(&fixture);
        g_string_free(raw, TRUE);
}

/* A watch on which nothing is heard any more is opened anew, over another connection, without ado. One that
 * nobody answers has failed. */
static void test_half_closed(void)
{
        static const RogueRow rows[] = {
                { "limit=2 ", 0, ROGUE_REPLY, LIST("10", "", OBJECT("a", "1")), 0 },
                { "resourceVersion=10&", 1, ROGUE_HOLD, STREAM, 0 },
                { "resourceVersion=10&", 1, ROGUE_HOLD, "", 0 },
                { "resourceVersion=10&", 1, ROGUE_HOLD, STREAM EVENT("ADDED", OBJECT("b", "11")), 0 },
                { "resourceVersion=11&", 0, ROGUE_HOLD, STREAM, 0 },
                { NULL, 0, 0, NULL, 0 },
        };
        Fixture fixture;

        begin_with(&fixture, rows, 1000);
        until(&fixture, "+a S !timeout * +b ");
        g_assert_cmpint(rogue_count(&fixture.rogue, "limit=2 "), ==, 1);
        end(&fixture);
}

/* The list fails in every way and comes at last; the watch is cut in the middle of an event and resumes. */
static void test_trouble(void)
{
        static const RogueRow rows[] = {
                { "limit=2 ", 1, ROGUE_CLOSE, STATUS("500 Oh", "{}"), 0 },
                { "limit=2 ", 1, ROGUE_CLOSE, STATUS("403 Forbidden", "{}"), 0 },
                { "limit=2 ", 1, ROGUE_CLOSE, "", 0 },
                { "limit=2 ", 1, ROGUE_CLOSE, STREAM "{\"items\":[" OBJECT("a", "1"), 0 },
                { "limit=2 ", 0, ROGUE_REPLY, LIST("10", "", OBJECT("a", "1")), 0 },
                { "resourceVersion=10&", 1, ROGUE_CLOSE,
                  CHUNKED "fff\r\n" EVENT("ADDED", OBJECT("b", "11")) "{\"type\":\"ADD", 0 },
                { "resourceVersion=11&", 1, ROGUE_CLOSE, STATUS("429 Busy", "{}"), 0 },
                { "resourceVersion=11&", 0, ROGUE_HOLD, STREAM EVENT("ADDED", OBJECT("c", "12")), 0 },
                { NULL, 0, 0, NULL, 0 },
        };
        Fixture fixture;

        begin(&fixture, rows);
        until(&fixture,
              "!unavailable !denied !unavailable +a !unavailable * S +b !unavailable !unavailable * +c ");
        g_assert_cmpint(rogue_count(&fixture.rogue, "limit=2 "), ==, 5);
        end(&fixture);
}

/* A watch that is refused again and again: the version may be one that the server has lost. */
static void test_refused(void)
{
        static const RogueRow rows[] = {
                { "limit=2 ", 1, ROGUE_REPLY, LIST("10", "", OBJECT("a", "1")), 0 },
                { "limit=2 ", 0, ROGUE_REPLY, LIST("5", "", OBJECT("b", "4")), 0 },
                { "resourceVersion=10&", 0, ROGUE_CLOSE,
                  STATUS("504 Timeout", "{\"message\":\"Too large resource version\"}"), 0 },
                { "resourceVersion=5&", 0, ROGUE_HOLD, STREAM, 0 },
                { NULL, 0, 0, NULL, 0 },
        };
        Fixture fixture;

        begin(&fixture, rows);
        until(&fixture, "+a S !unavailable !unavailable !unavailable +b * -a R ");
        g_assert_cmpint(rogue_count(&fixture.rogue, "resourceVersion=10&"), ==, 3);
        end(&fixture);
}

/* A cache that has to list or watch does not stand behind what waits. */
static void test_first_in_line(void)
{
        static const RogueRow rows[] = {
                { "/held ", 0, ROGUE_HOLD, HEAD("200 OK"), 0 },
                { "limit=2 ", 0, ROGUE_REPLY, LIST("10", "", OBJECT("a", "1")), 0 },
                { "resourceVersion=10&", 0, ROGUE_HOLD, STREAM EVENT("ADDED", OBJECT("b", "11")), 0 },
                { NULL, 0, 0, NULL, 0 },
        };
        Fixture fixture = { .seen = g_string_new(NULL) };

        rogue_start(&fixture.rogue, rows);
        fixture.client = rogue_client(&fixture.rogue, "", &(KubeClientOptions){ .max_in_flight = 1 });
        for (int i = 0; i < 3; i++)
                kube_send(fixture.client, &(KubeRequest){ .verb = KUBE_GET, .path = "/held" }, NULL, NULL);
        open_cache(&fixture, NEVER_MS);
        until(&fixture, "+a S +b ");
        g_assert_cmpint(rogue_count(&fixture.rogue, "/held "), <=, 1);
        end(&fixture);
}

static KubeClientFigures figures_of(const KubeClient *client)
{
        KubeClientFigures figures;

        kube_client_figures(client, &figures);
        return figures;
}

static char *write_token(void)
{
        char *path = g_build_filename(g_get_tmp_dir(), "kube-cache-XXXXXX", NULL);
        int fd = g_mkstemp(path);

        g_assert_cmpint(write(fd, "t", 1), ==, 1);
        close(fd);
        return path;
}

/* Nor behind a request in the background for which there is no room, and which would be next; also when it is
 * sent once more, with a new token. */
static void test_full_room(void)
{
        enum { ROOM = 8 }; /* of which one is for requests in the background */
        static const RogueRow rows[] = {
                { "/held ", 0, ROGUE_HOLD, "", 0 },
                { "limit=2 ", 1, ROGUE_CLOSE, STATUS("401 Unauthorized", "{}"), 0 },
                { "limit=2 ", 0, ROGUE_REPLY, LIST("10", "", OBJECT("a", "1")), 0 },
                { "resourceVersion=10&", 0, ROGUE_HOLD, STREAM EVENT("ADDED", OBJECT("b", "11")), 0 },
                { NULL, 0, 0, NULL, 0 },
        };
        Fixture fixture = { .seen = g_string_new(NULL) };
        g_autofree char *token = write_token(), *user = g_strconcat("tokenFile: ", token, NULL);
        KubeRequest held = { .verb = KUBE_GET, .path = "/held" };

        rogue_start(&fixture.rogue, rows);
        fixture.client = rogue_client(&fixture.rogue, user, &(KubeClientOptions){ .max_in_flight = ROOM });
        for (int i = 0; i < ROOM; i++)
                kube_send(fixture.client, &held, NULL, NULL);
        run_until(figures_of(fixture.client).in_flight == ROOM);
        held.background = true;
        kube_send(fixture.client, &held, NULL, NULL);
        open_cache(&fixture, NEVER_MS);
        until(&fixture, "+a S +b ");
        g_assert_cmpuint(figures_of(fixture.client).in_flight, ==, ROOM);
        g_assert_cmpuint(figures_of(fixture.client).waiting, ==, 1);
        end(&fixture);
        g_assert_cmpint(unlink(token), ==, 0);
}

/* A busy server ends a watch at once; what follows is no trouble. */
static void test_cut_short(void)
{
        static const RogueRow rows[] = {
                { "limit=2 ", 0, ROGUE_REPLY, LIST("10", "", OBJECT("a", "1")), 0 },
                { "resourceVersion=10&", 1, ROGUE_CLOSE, STREAM, 0 },
                { "resourceVersion=10&", 1, ROGUE_CLOSE, STREAM EVENT("ADDED", OBJECT("b", "11")), 0 },
                { "resourceVersion=11&", 1, ROGUE_CLOSE, STREAM, 0 },
                { "resourceVersion=11&", 1, ROGUE_CLOSE, STREAM, 0 },
                { "resourceVersion=11&", 0, ROGUE_HOLD, STREAM EVENT("ADDED", OBJECT("c", "12")), 0 },
                { NULL, 0, 0, NULL, 0 },
        };
        Fixture fixture;

        begin(&fixture, rows);
        until(&fixture, "+a S +b !unavailable * +c ");
        end(&fixture);
}

/* The cache may be freed by any of its handlers. */
static void test_free_within(void)
{
        static const RogueRow rows[] = {
                { "limit=2 ", 1, ROGUE_CLOSE, STATUS("500 Oh", "{}"), 0 },
                { "limit=2 ", 0, ROGUE_REPLY, LIST("10", "", OBJECT("a", "1") ",{}"), 0 },
                { "resourceVersion=10&", 1, ROGUE_CLOSE,
                  STREAM EVENT("MODIFIED", OBJECT("a", "11")) EVENT("DELETED", OBJECT("a", "12")), 0 },
                { NULL, 0, 0, NULL, 0 },
        };

        for (const char *at = "!+?*S~-"; *at; at++) {
                Fixture fixture;

                begin(&fixture, rows);
                fixture.free_at = *at;
                run_until(!fixture.cache);
                g_assert_nonnull(strchr(fixture.seen->str, *at));
                end(&fixture);
        }
}

int main(int argc, char **argv)
{
        json_init();
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/kube/cache/life", test_life);
        g_test_add_func("/kube/cache/gone", test_gone);
        g_test_add_func("/kube/cache/always-gone", test_always_gone);
        g_test_add_func("/kube/cache/expired-pages", test_expired_pages);
        g_test_add_func("/kube/cache/poisoned", test_poisoned);
        g_test_add_func("/kube/cache/chunks", test_chunks);
        g_test_add_func("/kube/cache/half-closed", test_half_closed);
        g_test_add_func("/kube/cache/trouble", test_trouble);
        g_test_add_func("/kube/cache/refused", test_refused);
        g_test_add_func("/kube/cache/first-in-line", test_first_in_line);
        g_test_add_func("/kube/cache/full-room", test_full_room);
        g_test_add_func("/kube/cache/cut-short", test_cut_short);
        g_test_add_func("/kube/cache/free-within", test_free_within);
        return g_test_run();
}
