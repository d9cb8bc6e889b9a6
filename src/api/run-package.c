/* Packages of runs (see run-package.h). */
#include "api/run-package.h"

#include <string.h>

#include "base/err.h"
#include "base/json.h"

bool run_package_use(Store *store, PackageStore *packages, const RunRecord *run, GError **error)
{
        g_autoptr(RunRecord) whole = store_run_by_id(store, run->id, true, error);
        g_autoptr(json_t) request =
                whole && whole->request ? json_parse(whole->request, strlen(whole->request), NULL) : NULL;
        const char *hash = json_string_value(json_object_get(request, "package"));

        if (!whole)
                return false;
        return !hash || package_store_use(packages, run->user, hash) ||
               err_set(error, ERR_GONE,
                       "the directory that was sent with run '%s' was removed some time after its end\n"
                       "Create a new run: paddle run create -f FILE.",
                       run->id);
}
