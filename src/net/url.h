/* Percent-encoding, and the two parts of a request's target: the path as segments, the query as pairs. Pure.
 * The input is untrusted, so everything is bounded, and the output is valid UTF-8 without NUL. */
#pragma once

#include <glib.h>
#include <stdbool.h>

enum { PATH_SEGMENTS_MAX = 128, QUERY_PAIRS_MAX = 64 };

typedef struct {
        GString *text; /* "/a/b": decoded, without empty segments and without a trailing slash; "/" for the
                          root */
        guint count;
        struct {
                gsize at, len; /* in text, without the slash */
        } segments[PATH_SEGMENTS_MAX];
} UrlPath;

void url_path_clear(UrlPath *path);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(UrlPath, url_path_clear)

/* Decodes the first `len` bytes of `raw`. A slash written as %2F does not separate segments. ERR_INVALID for
 * a broken escape, a NUL, bytes that are not UTF-8, the segments '.' and '..', and too many segments. */
bool url_path_parse(const char *raw, gsize len, UrlPath *ret, GError **error);

typedef struct {
        char *name, *value;
} UrlPair;

/* The path of a face (server.h), in which all slashes count: an empty segment is ERR_NOT_FOUND. As in Go, the
 * path is decoded if it is escaped correctly, and otherwise used as it was sent. '.' and '..' are names. */
bool url_path_parse_exact(const char *raw, gsize len, UrlPath *ret, GError **error);

/* Decodes "a=1&b=x%20y&c" ('+' is a blank); an array of UrlPair that frees its strings. NULL on failure, with
 * ERR_INVALID. */
GArray *url_query_parse(const char *raw, GError **error);

/* The same for a face: a pair with ';' or a broken escape is ignored, as are pairs above the limit. Bytes
 * that are not UTF-8 become U+FFFD. */
GArray *url_query_parse_exact(const char *raw);

/* Adds "?name=value" or "&name=value" to a path, with the value encoded. NULL adds nothing. */
void url_add_query(GString *path, const char *name, const char *value);

/* The value of the first pair of that name, or NULL. */
const char *url_query_get(const GArray *query, const char *name);
