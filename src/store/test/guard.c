/* A thread that must not read from the store (guard.h). */
#include "store/guard.h"

#include "base/test/sanitized.h"
#include "store/test/help.h"

static Store *store;

static void read_by_id(void)
{
        g_autoptr(Job) job = store_job_by_id(store, "0000000000000000", NULL);
}

static void read_by_seq(void)
{
        g_autoptr(Job) job = store_job_by_seq(store, 1, NULL);
}

static void read_jobs(void)
{
        const JobQuery query = { .limit = 1 };
        gint64 next;
        g_autoptr(GPtrArray) jobs = store_jobs(store, &query, &next, NULL);
}

static void read_tokens(void)
{
        g_autoptr(GPtrArray) tokens = store_tokens(store, NULL, NULL);
}

static void (*const reads[])(void) = { read_by_id, read_by_seq, read_jobs, read_tokens };

static void test_forbidden(gconstpointer data)
{
        void (*const *read)(void) = data;
        g_autoptr(Scratch) dir = scratch_new();

        if (!g_test_subprocess()) {
                g_test_trap_subprocess(NULL, 0, 0);
                g_test_trap_assert_failed();
                g_test_trap_assert_stderr("*the store is read by 'a test'*");
                return;
        }
        store = open_store(dir);
        (*read)();
        store_forbid_reads("a test");
        store_forbid_reads(NULL);
        (*read)();
        store_forbid_reads("a test");
        (*read)();
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        for (gsize i = 0; IS_SANITIZED && i < G_N_ELEMENTS(reads); i++) {
                g_autofree char *path = g_strdup_printf("/guard/forbidden %d", (int)i);

                g_test_add_data_func(path, &reads[i], test_forbidden);
        }
        return g_test_run();
}
