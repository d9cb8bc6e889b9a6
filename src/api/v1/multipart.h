/* The one thing that is read out of a multipart/form-data body (RFC 7578): the archive in the field
 * "package". */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* Is a body of this content type (may be NULL) a form? */
bool multipart_is_form(const char *type);

/* The boundary of a form, with its leading dashes; the caller's. ERR_INVALID when the type has none. */
char *multipart_boundary(const char *type, GError **error);

/* Finds the part named "package"; *ret is borrowed from `body`. ERR_INVALID when there is no whole one. */
bool multipart_find(const char *body, gsize len, const char *boundary, const char **ret, gsize *ret_len,
                    GError **error);
