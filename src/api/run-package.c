/* Packages of runs (see run-package.h). */
#include "api/run-package.h"

#include <string.h>

#include "base/err.h"
#include "base/json.h"

bool run_package_of_version(PackageStore *packages, const PipelineVersion *version, json_t *request,
                            GError **error)
{
        const char *hash;

        if (!version->files || json_string_value(json_object_get(request, "package")))
                return true;
        pipeline_add_files(request, version->files);
        hash = json_string_value(json_object_get(request, "package"));
        return package_store_use(packages, version->user, hash) ||
               err_set(error, ERR_GONE,
                       "the directory that was stored with version %d of the pipeline was removed\n"
                       "Store the pipeline again: paddle pipeline update NAME FILE.",
                       version->version);
}

/* The user who stored the version of which the run is made sent the package, too. */
static bool use_stored(Store *store, PackageStore *packages, const RunRecord *run, const char *hash)
{
        g_autoptr(PipelineVersion) version =
                run->pipeline ? store_pipeline_version(store, run->pipeline, run->version, false, NULL)
                              : NULL;

        return version && package_store_use(packages, version->user, hash);
}

bool run_package_use(Store *store, PackageStore *packages, const RunRecord *run, GError **error)
{
        g_autoptr(RunRecord) whole = store_run_by_id(store, run->id, true, error);
        g_autoptr(json_t) request =
                whole && whole->request ? json_parse(whole->request, strlen(whole->request), NULL) : NULL;
        const char *hash = json_string_value(json_object_get(request, "package"));

        if (!whole)
                return false;
        return !hash || package_store_use(packages, run->user, hash) ||
               use_stored(store, packages, run, hash) ||
               err_set(error, ERR_GONE,
                       "the directory that was sent with run '%s' was removed some time after its end\n"
                       "Create a new run: paddle run create -f FILE.",
                       run->id);
}
