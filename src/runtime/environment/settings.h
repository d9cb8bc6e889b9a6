/* The sources of packages: pip's settings (its configuration files and PIP_* variables), and the same under
 * uv's names, since uv ignores pip's. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* pip's configuration: option name ("index-url") to value, words joined by one blank. Later files override
 * earlier ones, section [install] overrides [global], PIP_* variables override both. Reads the files of
 * `home` and the machine. The caller's g_hash_table_unref. */
GHashTable *settings_read_pip(char *const *environ_list);

/* Adds the text of one configuration file; skips what it cannot parse. */
void settings_add_pip_file(GHashTable *settings, const char *text);

/* The environment of a build: what all programs inherit (base/inherited.h), variables of compilers, PIP_*,
 * UV_*, and pip's settings under uv's names. An existing UV_* variable wins. The caller's g_strfreev. */
char **settings_variables(char *const *environ_list);

/* Addresses from which packages come with these settings: "HOST:PORT,...", those of PyPI if no index is set,
 * and the known file hosts of indexes; the caller's. */
char *settings_addresses(char *const *environ_list);
/* The same for URLs in a text; the caller's. */
char *settings_addresses_in(const char *text);

/* The machine's proxies for them: "http_proxy=...", "https_proxy=...", "all_proxy=...", "no_proxy=..." of
 * those that are set; the caller's g_strfreev. ERR_INVALID for a proxy that does not use http. */
char **settings_proxies(char *const *environ_list, GError **error);

/* All settings that decide which files an index returns, as text for a hash. It contains secrets; do not show
 * it. The caller's. */
char *settings_fingerprint(char *const *environ_list);
