/* Compiled definitions of runs for clients (see run-texts.h). */
#include "api/v1/run-texts.h"

#include <string.h>

#include "base/err.h"

enum {
        TEXTS_MAX = 16,
        TEXT_BYTES_MAX = 32 << 20, /* of memory */
};

typedef struct {
        char id[ID_LEN + 1];
        RunText *text;
} Kept;

struct RunTexts {
        Engine *engine;
        GMutex lock;
        GQueue kept; /* Kept, the last used one first */
        gsize bytes;
};

RunText *run_text_ref(RunText *text)
{
        g_atomic_ref_count_inc(&text->refs);
        return text;
}

void run_text_unref(RunText *text)
{
        if (!g_atomic_ref_count_dec(&text->refs))
                return;
        definition_free(text->own);
        g_clear_pointer(&text->engines, engine_plan_unref);
        g_free(text);
}

RunTexts *run_texts_new(Engine *engine)
{
        RunTexts *texts = g_new0(RunTexts, 1);

        texts->engine = engine;
        g_mutex_init(&texts->lock);
        g_queue_init(&texts->kept);
        return texts;
}

static void drop_last(RunTexts *texts)
{
        Kept *kept = g_queue_pop_tail(&texts->kept);

        texts->bytes -= kept->text->size;
        run_text_unref(kept->text);
        g_free(kept);
}

void run_texts_free(RunTexts *texts)
{
        if (!texts)
                return;
        while (texts->kept.length > 0)
                drop_last(texts);
        g_mutex_clear(&texts->lock);
        g_free(texts);
}

static RunText *find(RunTexts *texts, const char *id)
{
        for (GList *link = texts->kept.head; link; link = link->next) {
                Kept *kept = link->data;

                if (strcmp(kept->id, id) != 0)
                        continue;
                g_queue_unlink(&texts->kept, link);
                g_queue_push_head_link(&texts->kept, link);
                return run_text_ref(kept->text);
        }
        return NULL;
}

static void keep(RunTexts *texts, const char *id, RunText *text)
{
        g_autoptr(RunText) there = NULL;
        Kept *kept;

        g_mutex_lock(&texts->lock);
        there = find(texts, id);
        if (!there) {
                kept = g_new0(Kept, 1);
                g_strlcpy(kept->id, id, sizeof kept->id);
                kept->text = run_text_ref(text);
                g_queue_push_head(&texts->kept, kept);
                texts->bytes += text->size;
        }
        while (texts->kept.length > TEXTS_MAX || (texts->bytes > TEXT_BYTES_MAX && texts->kept.length > 1))
                drop_last(texts);
        g_mutex_unlock(&texts->lock);
}

static Definition *compile(const RunRecord *run, GError **error)
{
        g_autoptr(json_t) request = NULL;
        DefinitionRequest wanted;
        g_auto(Problems) problems = { 0 };
        g_autofree char *problem = NULL;
        Definition *ret;

        if (!run->text || !run->request) { /* its rows are read one after the other */
                err_set(error, ERR_NOT_FOUND, "run '%s' was just deleted", run->id);
                return NULL;
        }
        request = json_parse(run->request, strlen(run->request), NULL);
        problems_init(&problems);
        definition_request_read(request, &wanted);
        ret = definition_parse(run->text, strlen(run->text), &wanted, &problems);
        if (ret)
                return ret;
        problem = problem_format(problems_first(&problems));
        err_set(error, ERR_FAILED, "the definition of run '%s' is not understood any more: %s", run->id,
                problem);
        return NULL;
}

static RunText *find_live(RunTexts *texts, const char *id)
{
        RunPlan *plan = engine_run_plan(texts->engine, id);
        RunText *text;

        if (!plan)
                return NULL;
        text = g_new0(RunText, 1);
        g_atomic_ref_count_init(&text->refs);
        text->engines = plan;
        text->definition = engine_plan_definition(plan);
        return text;
}

RunText *run_texts_get(RunTexts *texts, Store *store, const RunRecord *run, GError **error)
{
        g_autoptr(RunRecord) whole = NULL;
        Definition *definition;
        RunText *text = find_live(texts, run->id);

        if (text)
                return text;
        g_mutex_lock(&texts->lock);
        text = find(texts, run->id);
        g_mutex_unlock(&texts->lock);
        if (text)
                return text;
        whole = store_run_by_id(store, run->id, true, error);
        definition = whole ? compile(whole, error) : NULL;
        if (!definition)
                return NULL;
        text = g_new0(RunText, 1);
        g_atomic_ref_count_init(&text->refs);
        text->definition = text->own = definition;
        text->size = definition->size;
        keep(texts, run->id, text);
        return text;
}
