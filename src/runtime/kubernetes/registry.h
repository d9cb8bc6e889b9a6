/* What a registry of images has: one question, for threads that may wait. The OCI distribution specification,
 * "Pulling manifests"; tokens as distribution's "Token Authentication" has them. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "runtime/kubernetes/image.h"

/* The digest ("sha256:...") of an image; the caller's. `registry`: the one whose credentials and transport
 * hold for its own host; others are asked as somebody unknown. NULL with ERR_NOT_FOUND (there is no such
 * image), ERR_DENIED (not for this user), or why it could not be asked. */
char *registry_digest(const SettingRegistry *registry, const ImageName *name, GError **error);

/* "Bearer realm=...,service=...,scope=...": where a token is fetched, as origin and path with query; the
 * caller's. `registry`: the cluster's own, whose word is taken; NULL: another, which names hosts of the
 * Internet, or its own. False with ERR_INVALID for a text that says no such place: realms are https, and
 * plain http only where the registry itself is asked so. `host`: of the registry. */
bool registry_challenge_parse(const char *text, const SettingRegistry *registry, const char *host,
                              char **ret_origin, char **ret_path, GError **error);

/* Whether one of a host's addresses is of this machine or of a private network. `resolve`: a name's are
 * looked up, which may wait; else only what is an address itself is known, and "localhost". */
bool registry_is_inner(const char *host, bool resolve);
