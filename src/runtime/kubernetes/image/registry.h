/* Queries a registry of images, for threads that may block. The OCI distribution specification, "Pulling
 * manifests"; tokens as in distribution's "Token Authentication". */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "runtime/kubernetes/image/image.h"

/* The digest ("sha256:...") of an image; the caller's. `registry`: its credentials and transport are used for
 * its own host; other registries are asked anonymously. NULL with ERR_NOT_FOUND (no such image), ERR_DENIED
 * (this user may not pull it), or why the registry could not be asked. */
char *registry_digest(const SettingRegistry *registry, const ImageName *name, GError **error);

/* Parses "Bearer realm=...,service=...,scope=...": where to get a token, as origin and path with query; the
 * caller's. `registry`: the cluster's own, whose answer is trusted; NULL: another one, which may name only
 * hosts of the Internet, or its own. False with ERR_INVALID for a malformed or disallowed place: realms are
 * https, and plain http only if the registry itself uses it. `host`: of the registry. */
bool registry_challenge_parse(const char *text, const SettingRegistry *registry, const char *host,
                              char **ret_origin, char **ret_path, GError **error);

/* True if one of a host's addresses belongs to this machine or a private network. `resolve`: look names up,
 * which may block; else only literal addresses and "localhost" are recognized. */
bool registry_is_inner(const char *host, bool resolve);
