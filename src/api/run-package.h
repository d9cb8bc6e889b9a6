/* The directory that was sent with a run, before the run is retried. */
#pragma once

#include "model/run-record.h"
#include "package/package.h"
#include "store/store.h"

/* Marks the package of the run as just used, so that it is there when the retry begins. True without one. ERR_GONE: it was
 * removed since the end of the run. Reads the store and a directory. */
bool run_package_use(Store *store, PackageStore *packages, const RunRecord *run, GError **error);
