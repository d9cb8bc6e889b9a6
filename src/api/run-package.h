/* The directory that was sent with a run, before the run is retried. */
#pragma once

#include "model/pipeline-record.h"
#include "model/run-record.h"
#include "package/package.h"
#include "store/store.h"

/* Completes the request of a run by the directory of the stored version, and marks it as just used. True without one, or if the
 * request names another one. ERR_GONE: it was removed. Reads a directory. */
bool run_package_of_version(PackageStore *packages, const PipelineVersion *version, json_t *request,
                            GError **error);

/* Marks the package of the run as just used, so that it is there when the retry begins. True without one. ERR_GONE: it was
 * removed since the end of the run. Reads the store and a directory. */
bool run_package_use(Store *store, PackageStore *packages, const RunRecord *run, GError **error);
