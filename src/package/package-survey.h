/* What of the store of packages is whose, and what might go of it, for the survey of the state directory. */
#pragma once

#include "package/package.h"
#include "storage/survey.h"

/* `store` is borrowed. */
Surveyed package_store_surveyed(PackageStore *store);
