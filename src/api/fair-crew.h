/* A crew (crew.h) whose threads and line are shared fairly between callers: net/pool.h, whose name is that of
 * a thing of the catalog wherever that is known. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct FairCrew FairCrew;

typedef void (*FairCrewFunc)(bool stopped, void *arg); /* as CrewFunc */

FairCrew *fair_crew_new(int threads, int share, int line_max); /* the latter two of one caller */
void fair_crew_stop(FairCrew *crew);
void fair_crew_free(FairCrew *crew); /* stops it first */

/* False with ERR_UNAVAILABLE when the caller's line is full or it has stopped. Any thread. */
bool fair_crew_push(FairCrew *crew, const char *caller, FairCrewFunc func, void *arg, GError **error);
