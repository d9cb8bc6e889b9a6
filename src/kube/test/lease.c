/* The lease against a server that refuses, is slow, and has others on it. The letters: + gained, - lost. */
#include "kube/lease.h"

#include "base/json.h"
#include "kube/test/rogue.h"

enum { NEVER_MS = 600000 };

typedef struct {
        Rogue rogue;
        KubeClient *client;
        KubeLease *lease;
        GString *seen;
        bool released;
} Fixture;

static void on_gained(void *arg)
{
        g_string_append_c(((Fixture *)arg)->seen, '+');
}

static void on_lost(void *arg)
{
        g_string_append_c(((Fixture *)arg)->seen, '-');
}

static void on_released(void *arg)
{
        ((Fixture *)arg)->released = true;
}

static void begin(Fixture *fixture, const RogueRow *rows, gint64 renew_deadline_ms, gint64 retry_ms)
{
        KubeLeaseConfig config = { .namespace = "n",
                                   .name = "l",
                                   .identity = "me",
                                   .duration_ms = NEVER_MS,
                                   .renew_deadline_ms = renew_deadline_ms,
                                   .retry_ms = retry_ms,
                                   .gained = on_gained,
                                   .lost = on_lost,
                                   .arg = fixture };

        *fixture = (Fixture){ .seen = g_string_new(NULL) };
        rogue_start(&fixture->rogue, rows);
        fixture->client = rogue_client(&fixture->rogue, "", NULL);
        fixture->lease = kube_lease_new(fixture->client, &config);
}

static void release(Fixture *fixture)
{
        kube_lease_release(g_steal_pointer(&fixture->lease), on_released, fixture);
        run_until(fixture->released);
}

static void end(Fixture *fixture)
{
        kube_lease_free(fixture->lease);
        kube_client_free(fixture->client);
        rogue_stop(&fixture->rogue);
        g_string_free(fixture->seen, TRUE);
}

static int used(Fixture *fixture, int row)
{
        pthread_mutex_lock(&fixture->rogue.mutex);
        int count = fixture->rogue.used[row];
        pthread_mutex_unlock(&fixture->rogue.mutex);
        return count;
}

static bool is_idle(const KubeClient *client)
{
        KubeClientFigures figures;

        kube_client_figures(client, &figures);
        return figures.in_flight + figures.waiting == 0;
}

static void until_seen(Fixture *fixture, const char *seen)
{
        run_until(strlen(fixture->seen->str) >= strlen(seen));
        g_assert_cmpstr(fixture->seen->str, ==, seen);
}

#define LEASE(version, holder)                                                                               \
        "{\"kind\":\"Lease\",\"metadata\":{\"name\":\"l\",\"namespace\":\"n\",\"resourceVersion\":"          \
        "\"" version "\"},\"spec\":{\"holderIdentity\":\"" holder "\",\"leaseDurationSeconds\":600,"         \
        "\"renewTime\":\"2026-01-01T00:00:0" version ".000000Z\"}}"
#define STATUS(line, body) HEAD(line) "Connection: close\r\n\r\n" body
#define CONFLICT STATUS("409 Conflict", "{\"reason\":\"Conflict\"}")
#define BUSY(seconds) HEAD("429 Too Many Requests") "Retry-After: " seconds "\r\nContent-Length: 2\r\n\r\n{}"
#define OURS "\"holderIdentity\":\"me\""
#define EMPTY "\"holderIdentity\":\"\""

/* Somebody else wrote the lease meanwhile (an annotation): what it says now is read, and given back. */
static void test_release_conflict(void)
{
        static const RogueRow rows[] = {
                { OURS, 0, ROGUE_REPLY, LEASE("1", "me"), 0 },
                { "\"resourceVersion\":\"1\"", 0, ROGUE_CLOSE, CONFLICT, 0 },
                { EMPTY, 0, ROGUE_REPLY, LEASE("3", ""), 0 },
                { "GET ", 1, ROGUE_CLOSE, STATUS("404 Not Found", "{}"), 0 },
                { "GET ", 0, ROGUE_REPLY, LEASE("2", "me"), 0 },
                { NULL, 0, 0, NULL, 0 },
        };
        Fixture fixture;

        begin(&fixture, rows, NEVER_MS, NEVER_MS);
        until_seen(&fixture, "+");
        release(&fixture);
        g_assert_cmpint(used(&fixture, 2), ==, 1);
        g_assert_cmpstr(fixture.seen->str, ==, "+");
        end(&fixture);
}

/* A renewal is under way when the lease is to be given back: it may have arrived. */
static void test_release_while_writing(void)
{
        static const RogueRow rows[] = {
                { "POST ", 0, ROGUE_REPLY, LEASE("1", "me"), 0 },
                { OURS, 0, ROGUE_HOLD, "", 0 },
                { "\"resourceVersion\":\"1\"", 0, ROGUE_CLOSE, CONFLICT, 0 },
                { EMPTY, 0, ROGUE_REPLY, LEASE("3", ""), 0 },
                { "GET ", 1, ROGUE_CLOSE, STATUS("404 Not Found", "{}"), 0 },
                { "GET ", 0, ROGUE_REPLY, LEASE("2", "me"), 0 },
                { NULL, 0, 0, NULL, 0 },
        };
        Fixture fixture;

        begin(&fixture, rows, NEVER_MS, 10);
        until_seen(&fixture, "+");
        while (!used(&fixture, 1))
                g_main_context_iteration(NULL, FALSE);
        release(&fixture);
        g_assert_cmpint(used(&fixture, 3), ==, 1);
        g_assert_cmpint(used(&fixture, 2), ==, 0);
        end(&fixture);
}

/* So may the very first write, of one who does not know yet that the lease is its own. */
static void test_release_before_gained(void)
{
        static const RogueRow rows[] = {
                { "POST ", 0, ROGUE_HOLD, "", 0 },
                { EMPTY, 0, ROGUE_REPLY, LEASE("2", ""), 0 },
                { "GET ", 1, ROGUE_CLOSE, STATUS("404 Not Found", "{}"), 0 },
                { "GET ", 0, ROGUE_REPLY, LEASE("1", "me"), 0 },
                { NULL, 0, 0, NULL, 0 },
        };
        Fixture fixture;

        begin(&fixture, rows, NEVER_MS, NEVER_MS);
        while (!used(&fixture, 0))
                g_main_context_iteration(NULL, FALSE);
        release(&fixture);
        g_assert_cmpint(used(&fixture, 1), ==, 1);
        g_assert_cmpstr(fixture.seen->str, ==, "");
        end(&fixture);
}

/* The last renewal failed: it is held still, and given back. */
static void test_release_after_failure(void)
{
        static const RogueRow rows[] = {
                { "POST ", 0, ROGUE_REPLY, LEASE("1", "me"), 0 },
                { OURS, 0, ROGUE_CLOSE, STATUS("500 Oh", "{}"), 0 },
                { EMPTY, 0, ROGUE_REPLY, LEASE("3", ""), 0 },
                { "GET ", 1, ROGUE_CLOSE, STATUS("404 Not Found", "{}"), 0 },
                { "GET ", 0, ROGUE_REPLY, LEASE("2", "me"), 0 },
                { NULL, 0, 0, NULL, 0 },
        };
        Fixture fixture;

        begin(&fixture, rows, NEVER_MS, 100);
        until_seen(&fixture, "+");
        run_until(used(&fixture, 1) && is_idle(fixture.client));
        release(&fixture);
        g_assert_cmpint(used(&fixture, 2), ==, 1);
        end(&fixture);
}

/* What another has taken is lost, and is not given back. */
static void test_taken(void)
{
        static const RogueRow rows[] = {
                { "POST ", 0, ROGUE_REPLY, LEASE("1", "me"), 0 },
                { OURS, 0, ROGUE_CLOSE, CONFLICT, 0 },
                { "PUT ", 0, ROGUE_REPLY, LEASE("3", ""), 0 },
                { "GET ", 1, ROGUE_CLOSE, STATUS("404 Not Found", "{}"), 0 },
                { "GET ", 0, ROGUE_REPLY, LEASE("2", "other"), 0 },
                { NULL, 0, 0, NULL, 0 },
        };
        Fixture fixture;

        begin(&fixture, rows, NEVER_MS, 10);
        until_seen(&fixture, "+-");
        g_assert_false(kube_lease_is_held(fixture.lease));
        release(&fixture);
        g_assert_cmpint(used(&fixture, 2), ==, 0);
        end(&fixture);
}

/* A busy server let the first write wait for longer than a renewal may take: that write does not count, the
 * next one does. */
static void test_late_write(void)
{
        static const RogueRow rows[] = {
                { "POST ", 1, ROGUE_RAW, BUSY("1"), 0 },
                { "POST ", 0, ROGUE_REPLY, LEASE("1", "me"), 0 },
                { OURS, 0, ROGUE_REPLY, LEASE("3", "me"), 0 },
                { "GET ", 1, ROGUE_CLOSE, STATUS("404 Not Found", "{}"), 0 },
                { "GET ", 0, ROGUE_REPLY, LEASE("2", "me"), 0 },
                { NULL, 0, 0, NULL, 0 },
        };
        Fixture fixture;

        begin(&fixture, rows, 900, 100);
        run_until(fixture.seen->len);
        g_assert_cmpint(used(&fixture, 2), >=, 1);
        end(&fixture);
}

/* A server that lets a renewal wait for an hour: the lease is lost in time, and stood for again at once. */
static void test_stands_again(void)
{
        static const RogueRow rows[] = {
                { "POST ", 0, ROGUE_REPLY, LEASE("1", "me"), 0 },
                { OURS, 1, ROGUE_RAW, BUSY("3600"), 0 },
                { OURS, 0, ROGUE_REPLY, LEASE("3", "me"), 0 },
                { "GET ", 1, ROGUE_CLOSE, STATUS("404 Not Found", "{}"), 0 },
                { "GET ", 0, ROGUE_REPLY, LEASE("2", "me"), 0 },
                { NULL, 0, 0, NULL, 0 },
        };
        Fixture fixture;

        begin(&fixture, rows, 1500, 100);
        run_until(strstr(fixture.seen->str, "-+"));
        g_assert_true(g_str_has_prefix(fixture.seen->str, "+-+"));
        end(&fixture);
}

int main(int argc, char **argv)
{
        json_init();
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/kube/lease/release-conflict", test_release_conflict);
        g_test_add_func("/kube/lease/release-while-writing", test_release_while_writing);
        g_test_add_func("/kube/lease/release-before-gained", test_release_before_gained);
        g_test_add_func("/kube/lease/release-after-failure", test_release_after_failure);
        g_test_add_func("/kube/lease/taken", test_taken);
        g_test_add_func("/kube/lease/late-write", test_late_write);
        g_test_add_func("/kube/lease/stands-again", test_stands_again);
        return g_test_run();
}
