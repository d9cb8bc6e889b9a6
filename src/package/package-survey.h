/* The usage of each owner in the store of packages, and what might be deleted from it, for the survey of the
 * state directory. */
#pragma once

#include "package/package.h"
#include "storage/survey.h"

/* `store` is borrowed. */
Surveyed package_store_surveyed(PackageStore *store);
