/* The compiled definitions of runs, for those who show them. */
#pragma once

#include "engine/run-plan.h"
#include "model/run-record.h"
#include "pipeline/definition.h"
#include "store/store.h"

/* Compiled definitions of the runs that were shown lately and have ended: at most 16, and 32 MiB of memory.
 * Those of other runs are the engine's. Any thread. */
typedef struct RunTexts RunTexts;
RunTexts *run_texts_new(Engine *engine);
void run_texts_free(RunTexts *texts); /* NULL is a no-op */

/* A definition that a request reads, counted. */
typedef struct {
        gatomicrefcount refs;
        const Definition *definition;
        gsize size;       /* bytes of `own` */
        Definition *own;  /* of a run that has ended; else NULL */
        RunPlan *engines; /* of a live run: the engine's; else NULL */
} RunText;
RunText *run_text_ref(RunText *text);
void run_text_unref(RunText *text);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RunText, run_text_unref)
/* NULL with an error: the run was deleted meanwhile, or its text is not understood any more. */
RunText *run_texts_get(RunTexts *texts, Store *store, const RunRecord *run, GError **error);
