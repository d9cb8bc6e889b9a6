/* Where packages come from: pip's settings (its configuration files and PIP_* variables), and the same under
 * the names uv reads, since uv ignores pip's. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* pip's configuration: option name ("index-url") to value, words joined by one blank. Later files win over
 * earlier ones, section [install] over [global], PIP_* variables over all. Files of `home` and the machine.
 * The caller's g_hash_table_unref. */
GHashTable *settings_read_pip(char *const *environ_list);

/* Adds the text of one configuration file; what cannot be understood is skipped. */
void settings_add_pip_file(GHashTable *settings, const char *text);

/* The environment of a build: what programs need in general (PATH, HOME, proxies, certificates), PIP_*, UV_*,
 * and for uv what pip was told. A UV_* variable that is set already wins. The caller's g_strfreev. */
char **settings_variables(char *const *environ_list);

/* Addresses that packages come from under these settings: "HOST:PORT,...", those of PyPI where no index is
 * set, and those that well-known indexes keep their files at; the caller's. */
char *settings_addresses(char *const *environ_list);
/* The same of URLs in a text; the caller's. */
char *settings_addresses_in(const char *text);

/* How the machine reaches them: "http_proxy=...", "https_proxy=...", "all_proxy=...", "no_proxy=..." of those
 * that are set; the caller's g_strfreev. ERR_INVALID for a proxy that is not reached by http. */
char **settings_proxies(char *const *environ_list, GError **error);

/* Everything that decides which files an index gives, as text for a hash. Secrets stay inside; do not show
 * it. The caller's. */
char *settings_fingerprint(char *const *environ_list);
