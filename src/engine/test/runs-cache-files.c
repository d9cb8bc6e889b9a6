/* Steps that search the cache, and contents of files that are not known or take long. */
#include "engine/test/play.h"

#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "engine/runs-cache.h"
#include "fs/tree-sum.h"

#define BIG                                                                                                  \
        HOME "cache: {enable: true, fingerprint: content, fs_scope: [{name: home, path: big}]}\n"            \
             "entry_points:\n  a: {command: c}\n"

/* A sparse file in the home of the user. False: the file system has no such files, and the test is skipped. */
static bool put_sparse(House *house, const char *user, gint64 bytes)
{
        g_autofree char *home = g_build_filename(house->config.homes, user, NULL),
                        *path = g_build_filename(home, "big", NULL);

        g_assert_cmpint(g_mkdir_with_parents(home, 0755), ==, 0);
        g_assert_true(g_file_set_contents(path, "", 0, NULL));
        if (truncate(path, bytes) == 0)
                return true;
        g_test_skip("the file system has no such long files");
        return false;
}

/* Of this process. */
static int count_digest_threads(void)
{
        g_autoptr(GDir) dir = g_dir_open("/proc/self/task", 0, NULL);
        int n = 0;

        for (const char *name; (name = g_dir_read_name(dir));) {
                g_autofree char *path = g_build_filename("/proc/self/task", name, "comm", NULL);
                g_autofree char *comm = NULL;

                n += g_file_get_contents(path, &comm, NULL, NULL) && g_str_has_prefix(comm, "digests");
        }
        return n;
}

static void assert_digest_threads(int want)
{
        gint64 patience = g_get_monotonic_time() + PATIENCE_S * G_USEC_PER_SEC;

        while (count_digest_threads() != want && g_get_monotonic_time() < patience)
                g_usleep(5000);
        g_assert_cmpint(count_digest_threads(), ==, want);
}

/* The entry of the only step. */
static CacheEntry *entry_of(const Play *play)
{
        g_autoptr(GPtrArray) nodes = play_nodes(play);
        g_autoptr(GError) error = NULL;
        CacheEntry *entry =
                store_cache_of_node(play->house->store, play->seq, play_find(play, nodes, "a")->node, &error);

        g_assert_no_error(error);
        g_assert_nonnull(entry);
        return entry;
}

static void assert_message(const Play *play, const char *want)
{
        g_autoptr(GPtrArray) nodes = play_nodes(play);

        g_assert_cmpstr(play_find(play, nodes, "a")->message, ==, want);
}

/* The step runs and says why nothing was looked up. Its entry is never found, not even while it runs. */
static void test_too_large(void)
{
        static const char why[] =
                "not reused: its files cannot be compared with those of earlier steps: "
                "they have more than 256 GiB; `fingerprint: time` compares their times instead";
        House *house = play_house();
        Play first, second;
        g_autoptr(CacheEntry) entry = NULL;

        if (put_sparse(house, "ann", TREE_BYTES_MAX + 1)) {
                first = play_new(house, BIG);
                play_assert(&first, "a", "running");
                assert_message(&first, why);
                entry = entry_of(&first);
                g_assert_cmpstr(entry->second, ==, "");
                g_assert_nonnull(strstr(entry->body, "256 GiB"));
                second = play_new(house, BIG);
                play_assert(&second, "a", "running");
                play_end_job(&first, "a", 0);
                play_assert(&first, "run", "succeeded");
                assert_message(&first, why);
                second.earlier = 1;
                play_end_job(&second, "a", 3);
                play_assert(&second, "run", "failed");
                play_assert_message(&second, "a", "exited with status 3"); /* what comes later counts more */
                play_clear(&first);
                play_clear(&second);
        }
        play_house_free(house);
}

/* A file of 200 GiB takes minutes. A digest that takes minutes delays no other step. */
static bool begin_long(House **ret_house, Play *ret)
{
        *ret_house = play_house();
        if (!put_sparse(*ret_house, "ann", 200LL << 30)) {
                play_house_free(*ret_house);
                return false;
        }
        *ret = play_new(*ret_house, BIG);
        assert_digest_threads(1);
        return true;
}

static void test_stop(void)
{
        g_autoptr(GError) error = NULL;
        House *house;
        Play play;

        if (!begin_long(&house, &play))
                return;
        g_assert_true(play_act(house, play.id, "stop", &error));
        play_assert(&play, "run", "terminated");
        assert_digest_threads(0);
        play_clear(&play);
        play_house_free(house);
}

static void test_end_of_server(void)
{
        House *house;
        Play play;

        if (!begin_long(&house, &play))
                return;
        house_close(house);
        assert_digest_threads(0);
        house_open(house);
        house_sync(house);
        assert_digest_threads(1); /* it begins again */
        play_clear(&play);
        play_house_free(house);
        assert_digest_threads(0);
}

static Play play_of_other(House *house)
{
        static const char text[] =
                "name: p\n" HOME "cache: {enable: true, fingerprint: content, "
                "fs_scope: [{name: home, path: small}]}\nentry_points:\n  a: {command: c}\n";
        g_autofree char *home = g_build_filename(house->config.homes, "ben", NULL),
                        *small = g_build_filename(home, "small", NULL);
        RunAnswer answer = { 0 };
        Play play = { .house = house, .definition = play_compile(text) };

        g_assert_cmpint(g_mkdir_with_parents(home, 0755), ==, 0);
        g_assert_true(g_file_set_contents(small, "1", 1, NULL));
        engine_create_run(house->engine, &(EngineRun){ .user = "ben", .text = text }, play_note_answer,
                          &answer);
        house_barrier(house);
        g_assert_no_error(answer.error);
        play.id = g_strdup(answer.run->id);
        play.seq = answer.run->seq;
        run_record_free(answer.run);
        return play;
}

/* Digests of one user hold up neither those of others, nor the user's other files; and they are few at once. */
static void test_others(void)
{
        House *house;
        Play longs[5], other, mine;

        if (!begin_long(&house, &longs[0]))
                return;
        for (gsize i = 1; i < G_N_ELEMENTS(longs); i++)
                longs[i] = play_new(house, BIG);
        assert_digest_threads(RUN_DIGESTS_OF_USER);
        mine = play_new(house, HOME WRITES);
        play_assert(&mine, "a", "running");
        other = play_of_other(house);
        play_assert(&other, "a", "running");
        house_pass(house,
                   RUN_FILES_DEADLINE_MS - 1000); /* those that wait are not given up while others go on */
        house_pass(house, RUN_FILES_DEADLINE_MS - 1000);
        assert_digest_threads(RUN_DIGESTS_OF_USER);
        for (gsize i = 0; i < G_N_ELEMENTS(longs); i++) {
                g_assert_cmpstr(play_state(&longs[i], "run"), ==, "running");
                play_clear(&longs[i]);
        }
        play_clear(&mine);
        play_clear(&other);
        play_house_free(house);
        assert_digest_threads(0);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/engine/runs/cache-files/too-large", test_too_large);
        g_test_add_func("/engine/runs/cache-files/stop", test_stop);
        g_test_add_func("/engine/runs/cache-files/end-of-server", test_end_of_server);
        g_test_add_func("/engine/runs/cache-files/others", test_others);
        return g_test_run();
}
