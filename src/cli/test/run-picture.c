/* The picture of `paddle run show`: loops are short, failures are named, and it fits the terminal. */
#include "base/text-cut.h"
#include "cli/run-picture.h"

#include <string.h>

#include "cli/table.h"

#define NOW 1772359200000 /* 2026-03-01T10:00:00Z */
#define RUN(items)                                                                                               \
        "{'id':'6rpyr77cvstaad5v','name':'train','state':'running','user':'ann','message':'',"                   \
        "'created_at':'2026-03-01T09:59:50.000Z','finished_at':null,'attempt':1,'retry_of':null,'items':[" items \
        "]}"
#define STEP(name, state, rest)                                                                              \
        "{'name':'" name "','type':'step','state':'" state "','started_at':'2026-03-01T09:59:55.000Z',"      \
        "'finished_at':'2026-03-01T09:59:57.000Z'" rest "}"
#define ITEM(number, state)                                                                                  \
        STEP("many", state, ",'number':" number ",'job':'jjjjjjjjjjjjjjjj','message':'exit 3'")
#define LOOP(state, counts, children)                                                                        \
        "{'name':'many','type':'loop','state':'" state "','count':1000,'states':{" counts                    \
        "},'children':[" children "]}"

typedef struct {
        const char *name, *run; /* JSON with ' for " */
        bool all;
        const char *lines;
} Case;

static const Case cases[] = {
        { "steps", RUN(STEP("a", "succeeded", ",'job':'xxxxxxxxxxxxxxxx'") "," STEP("b", "running", "")),
          false,
          "train (6rpyr77cvstaad5v)  running  10.0 s  by ann\n"
          "|- a  succeeded  2.0 s  job xxxxxxxxxxxxxxxx\n"
          "`- b  running    2.0 s\n" },
        { "a loop that runs shows what runs and what failed",
          RUN(LOOP("running", "'succeeded':128,'running':1,'failed':1,'pending':870",
                   ITEM("5", "failed") "," ITEM("129", "running"))),
          false,
          "train (6rpyr77cvstaad5v)  running  10.0 s  by ann\n"
          "`- many         running  128 of 1000 succeeded, 1 running, 1 failed, 870 pending\n"
          "   |- many-5    failed   2.0 s  job jjjjjjjjjjjjjjjj  exit 3\n"
          "   `- many-129  running  2.0 s  job jjjjjjjjjjjjjjjj  exit 3\n" },
        { "a loop that has ended shows what failed",
          RUN(LOOP("failed", "'succeeded':997,'failed':3", ITEM("5", "failed") "," ITEM("6", "succeeded"))),
          false,
          "train (6rpyr77cvstaad5v)  running  10.0 s  by ann\n"
          "`- many           failed  997 of 1000 succeeded, 3 failed\n"
          "   |- many-5      failed  2.0 s  job jjjjjjjjjjjjjjjj  exit 3\n"
          "   `- ... 2 more  failed\n" },
        { "what is not shown is counted by its state",
          RUN(LOOP("terminated", "'succeeded':900,'failed':2,'terminated':98",
                   ITEM("5", "failed") "," ITEM("9", "terminated"))),
          false,
          "train (6rpyr77cvstaad5v)  running  10.0 s  by ann\n"
          "`- many            terminated  900 of 1000 succeeded, 2 failed, 98 terminated\n"
          "   |- many-5       failed      2.0 s  job jjjjjjjjjjjjjjjj  exit 3\n"
          "   |- many-9       terminated  2.0 s  job jjjjjjjjjjjjjjjj  exit 3\n"
          "   |- ... 1 more   failed\n"
          "   `- ... 97 more  terminated\n" },
        { "--all shows the rest", RUN(LOOP("succeeded", "'succeeded':1000", ITEM("6", "succeeded"))), true,
          "train (6rpyr77cvstaad5v)  running  10.0 s  by ann\n"
          "`- many       succeeded  1000 of 1000 succeeded\n"
          "   `- many-6  succeeded  2.0 s  job jjjjjjjjjjjjjjjj  exit 3\n" },
        { "a retry",
          "{'id':'6rpyr77cvstaad5v','name':'train','state':'succeeded','user':'ann','message':'',"
          "'created_at':'2026-03-01T09:59:50.000Z','finished_at':'2026-03-01T09:59:51.000Z','attempt':2,"
          "'retry_of':'rrrrrrrrrrrrrrrr','items':[" STEP("a", "succeeded", ",'run':'rrrrrrrrrrrrrrrr'") "]}",
          false,
          "train (6rpyr77cvstaad5v)  succeeded  1.0 s  by ann  attempt 2 (retry of rrrrrrrrrrrrrrrr)\n"
          "`- a  succeeded  2.0 s  kept from run rrrrrrrrrrrrrrrr\n" },
        { "the reason of a run has a line of its own",
          "{'id':'6rpyr77cvstaad5v','name':'train','state':'failed','user':'ann','message':'step a failed: a reason that is wider than "
          "a terminal of 80 columns',"
          "'created_at':'2026-03-01T09:59:50.000Z','finished_at':'2026-03-01T09:59:51.000Z','attempt':1,'retry_of':null,"
          "'items':[" STEP("a", "failed", "") ",{'name':'a-longer-name','type':'step','state':'cancelled'}]}",
          false,
          "train (6rpyr77cvstaad5v)  failed  1.0 s  by ann\n"
          "step a failed: a reason that is wider than a terminal of 80 columns\n"
          "|- a              failed  2.0 s\n"
          "`- a-longer-name  cancelled\n" },
        { "each step that failed has a line; post_process is set apart",
          "{'id':'6rpyr77cvstaad5v','name':'train','state':'failed','user':'ann','message':'step \\u0027a\\u0027 failed: exit 1; "
          "see x; step \\u0027tidy\\u0027 failed: exit 2',"
          "'created_at':'2026-03-01T09:59:50.000Z','finished_at':'2026-03-01T09:59:51.000Z','attempt':1,'retry_of':null,"
          "'items':[" STEP("a", "failed", "") "," STEP("tidy", "failed", ",'post_process':true") "]}",
          false,
          "train (6rpyr77cvstaad5v)  failed  1.0 s  by ann\n"
          "step 'a' failed: exit 1; see x\n"
          "step 'tidy' failed: exit 2\n"
          "`- a     failed  2.0 s\n"
          "post_process\n"
          "`- tidy  failed  2.0 s\n" },
        { "a stored pipeline, and what the run is for",
          "{'id':'6rpyr77cvstaad5v','name':'train','state':'running','user':'ann','message':'','version':3,"
          "'description':'with \\u001b more data','created_at':'2026-03-01T09:59:50.000Z','finished_at':null,'attempt':1,"
          "'retry_of':null,'items':[]}",
          false, "train (6rpyr77cvstaad5v)  running  10.0 s  by ann  version 3  with ? more data\n" },
        { "a message cannot control the terminal", RUN(STEP("a", "failed", ",'message':'x\\u001b[2Jy'")),
          false,
          "train (6rpyr77cvstaad5v)  running  10.0 s  by ann\n"
          "`- a  failed  2.0 s  x?[2Jy\n" },
};

static json_t *run_of(const char *text)
{
        g_autofree char *quoted = g_strdelimit(g_strdup(text), "'", '"');
        g_autoptr(GError) error = NULL;
        json_t *run = json_parse(quoted, strlen(quoted), &error);

        g_assert_no_error(error);
        return run;
}

static void test_lines(void)
{
        const Terminal terminal = { .width = 80 };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(json_t) run = run_of(cases[i].run);
                g_autofree char *lines =
                        run_draw(&(RunPicture){ .run = run, .now = NOW, .all = cases[i].all }, &terminal, 0);

                g_test_message("%s", cases[i].name);
                g_assert_cmpstr(lines, ==, cases[i].lines);
        }
}

static void check_size(const char *lines, int width, int height)
{
        g_auto(GStrv) all = g_strsplit(lines, "\n", -1);
        guint n = g_strv_length(all);

        g_assert_cmpstr(all[n - 1], ==, ""); /* each line is ended */
        g_assert_cmpint((int)n - 1, <=, height);
        for (guint i = 0; i < n; i++)
                g_assert_cmpint(text_columns(all[i]), <=, width);
}

/* On a screen some items of a loop are left out, so that the steps behind it are seen; those that failed are not. */
static void test_screen(void)
{
        const Terminal terminal = { .out_is_terminal = true, .utf8 = true, .width = 80 };
        g_autoptr(GString) items = g_string_new(NULL);
        g_autofree char *text = NULL, *lines = NULL;
        g_autoptr(json_t) run = NULL;

        for (int i = 0; i < 20; i++)
                g_string_append_printf(items, "%s{'name':'fit','type':'step','number':%d,'state':'%s'}",
                                       i ? "," : "", i, i == 17 ? "failed" : "running");
        text = g_strconcat("{'id':'6rpyr77cvstaad5v','name':'train','state':'running','user':'ann','items':[",
                           "{'name':'fit','type':'loop','state':'running','count':20,",
                           "'states':{'running':19,'failed':1},'children':[", items->str,
                           "]},{'name':'score','type':'step','state':'pending'}]}", NULL);
        run = run_of(text);
        lines = run_draw(&(RunPicture){ .run = run, .now = NOW }, &terminal, 24);
        g_assert_nonnull(strstr(lines, "fit-17"));
        g_assert_nonnull(strstr(lines, "fit-3 "));
        g_assert_null(strstr(lines, "fit-4 "));
        g_assert_nonnull(strstr(lines, "… 15 more"));
        g_assert_nonnull(strstr(lines, "score"));
}

static void test_size(void)
{
        g_autoptr(GString) items = g_string_new(NULL);
        g_autofree char *text = NULL;
        g_autoptr(json_t) run = NULL;

        for (int i = 0; i < 200; i++)
                g_string_append_printf(items, "%s%s", i ? "," : "",
                                       STEP("a-step-with-a-name", "failed",
                                            ",'message':'a long reason, which goes on'"));
        text = g_strconcat("{'id':'6rpyr77cvstaad5v','name':'train','state':'failed','user':'ann','items':[",
                           items->str, "]}", NULL);
        run = run_of(text);
        for (int width = 20; width <= 120; width += 25)
                for (int height = 4; height <= 60; height += 14)
                        for (int stale = 0; stale < 2; stale++) {
                                const Terminal terminal = { .out_is_terminal = true,
                                                            .utf8 = true,
                                                            .width = width };
                                g_autofree char *lines =
                                        run_draw(&(RunPicture){ .run = run,
                                                                .now = NOW,
                                                                .trouble = stale ? "not up to date: no server"
                                                                                 : NULL },
                                                 &terminal, height);

                                check_size(lines, width, height);
                                g_assert_nonnull(strstr(lines, "more lines"));
                                g_assert_true(!stale || strstr(lines, "not up to"));
                        }
}

/* ---- the longest chain ---- */

#define LINK(path, run) "{'path':'" path "','slot_ms':100,'queue_ms':0,'prepare_ms':1000,'run_ms':" run "}"
#define CHAIN(items, left_out)                                                                               \
        "{'total_ms':100000,'items':[" items "],'left_out':" left_out                                        \
        ",'left_out_ms':2000,'slot_ms':500,'queue_ms':5000,'prepare_ms':3000,'run_ms':80000}"

static const struct {
        const char *chain, *lines;
        int width; /* 0: no terminal */
        bool breaks;
} chains[] = {
        { CHAIN(LINK("prep", "1000") "," LINK("d.train-3", "59000"), "0"),
          "longest chain: 1m 30s of 1m 40s in steps\n"
          "  prep 2.0 s > d.train-3 1m 00s\n"
          "  running 1m 20s, in the queue 5.0 s, being prepared 3.0 s\n",
          0 },
        { CHAIN("", "0"), "", 0 },
        { "{'total_ms':1000,'items':[" LINK("a",
                                            "900") "],'left_out':0,'slot_ms':100,'run_ms':900,'queue_ms':9}",
          "longest chain: 909 ms of 1.0 s in steps\n  a 1.9 s\n  running 900 ms, waiting for a slot 100 ms\n",
          0 },
        { "{'total_ms':1000,'items':[" LINK("a", "900") "],'left_out':0,'slot_ms':100,'run_ms':900}",
          "longest chain: 900 ms of 1.0 s in steps\n  a 1.9 s\n  running 900 ms, waiting for a slot or at a breakpoint 100 ms\n",
          0, true },
        /* those that took longest are named, the others are counted where they are */
        { CHAIN(LINK("a", "1") "," LINK("b", "2000") "," LINK("c", "3000") "," LINK("d", "4") "," LINK("e", "5") "," LINK(
                        "f",
                        "4000") "," LINK("g",
                                         "4000") "," LINK("h",
                                                          "4000") "," LINK("i",
                                                                           "4000") "," LINK("j",
                                                                                            "4000") "," LINK("k",
                                                                                                             "4000"),
                "7"),
          "longest chain: 1m 30s of 1m 40s in steps\n"
          "  ... 1 more 1.0 s > b 3.0 s > c 4.0 s > ... 2 more 2.0 s > f 5.0 s > g 5.0 s > h 5.0 s > i 5.0 s > j 5.0 s > k 5.0 s > ... 7 more "
          "2.0 s\n"
          "  running 1m 20s, in the queue 5.0 s, being prepared 3.0 s\n",
          0 },
        { CHAIN(LINK("a-long-name-of-a-step", "1000") "," LINK("another-name-of-a-step", "1000"), "0"),
          "longest chain: 1m 30s of 1m 40s in steps\n"
          "  a-long-name-of-a-step 2.0 s >\n"
          "    another-name-of-a-step 2.0 s\n"
          "  running 1m 20s,\n"
          "    in the queue 5.0 s,\n"
          "    being prepared 3.0 s\n",
          36 },
};

static void test_chain(void)
{
        for (gsize i = 0; i < G_N_ELEMENTS(chains); i++) {
                const Terminal terminal = { .out_is_terminal = chains[i].width > 0,
                                            .width = chains[i].width };
                g_autoptr(json_t) chain = run_of(chains[i].chain);
                g_autofree char *lines = run_chain_draw(chain, chains[i].breaks, &terminal);

                g_assert_cmpstr(lines, ==, chains[i].lines);
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/cli/run-picture/chain", test_chain);
        g_test_add_func("/cli/run-picture/lines", test_lines);
        g_test_add_func("/cli/run-picture/screen", test_screen);
        g_test_add_func("/cli/run-picture/size", test_size);
        return g_test_run();
}
