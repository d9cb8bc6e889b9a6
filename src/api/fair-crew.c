/* See fair-crew.h. */
#include "api/fair-crew.h"

#include "net/pool.h"

struct FairCrew {
        Pool *pool;
};

FairCrew *fair_crew_new(int threads, int share, int line_max)
{
        FairCrew *crew = g_new0(FairCrew, 1);

        crew->pool = pool_new(&(PoolConfig){ .threads = threads, .share = share, .line_max = line_max });
        return crew;
}

void fair_crew_stop(FairCrew *crew)
{
        pool_stop(crew->pool);
}

void fair_crew_free(FairCrew *crew)
{
        if (!crew)
                return;
        pool_free(crew->pool);
        g_free(crew);
}

bool fair_crew_push(FairCrew *crew, const char *caller, FairCrewFunc func, void *arg, GError **error)
{
        return pool_push(crew->pool, caller, func, arg, error);
}
