/* Names of the variables that every program inherits from the process that starts it: search paths, locale, time
 * zone, proxies and certificates. Who needs more adds names of its own. NULL-terminated. */
#pragma once

extern const char *const inherited_variables[];
