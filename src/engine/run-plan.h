/* Compiled definitions of live runs for readers. Any thread. */
#pragma once

#include "engine/engine.h"
#include "pipeline/definition.h"

typedef struct RunPlan RunPlan;

/* The plan of a run that has not ended, a new reference. NULL: the run has ended, or there is no such run. The definition
 * in it has the parameters and settings of the run's request. */
RunPlan *engine_run_plan(Engine *engine, const char *id);
const Definition *engine_plan_definition(const RunPlan *plan);
void engine_plan_unref(RunPlan *plan);
