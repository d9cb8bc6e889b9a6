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
 * caller's. False with ERR_INVALID for a text that says no such place. */
bool registry_challenge_parse(const char *text, char **ret_origin, char **ret_path, GError **error);
