/* Compiled definitions of live runs for readers. Any thread. */
#pragma once

#include "engine/engine.h"
#include "pipeline/definition.h"

typedef struct RunPlan RunPlan;

/* That of a run that has not ended, counted; NULL: it has ended, or there is none. Its components are those of the text;
 * what the request changed is applied. */
RunPlan *engine_run_plan(Engine *engine, const char *id);
const Definition *engine_plan_definition(const RunPlan *plan);
void engine_plan_unref(RunPlan *plan);
