/* Splits the bytes of a watch or of a list into objects, whatever the pieces are. Pure and bounded: at most
 * `max` bytes of one object are held. An object that is larger or cannot be read is reported as such, and the
 * following ones are still found. Values nested deeper than KUBE_DEPTH_MAX become null. */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

enum { KUBE_OBJECT_MAX = 64 << 20, KUBE_DEPTH_MAX = 500 };

typedef struct KubeFrames KubeFrames;
typedef enum {
        FRAMES_WATCH, /* {"type":...,"object":...} after another, with or without blanks between them */
        FRAMES_LIST,  /* the members of "items" */
} KubeFramesMode;

/* `object` is borrowed (it may be changed); NULL: `error` is why it cannot be read. False: stop. */
typedef bool (*KubeFrameFound)(json_t *object, const GError *error, void *arg);

KubeFrames *kube_frames_new(KubeFramesMode mode, gsize max, KubeFrameFound found, void *arg);
void kube_frames_free(KubeFrames *frames);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(KubeFrames, kube_frames_free)

/* False with ERR_INVALID if it is not such a stream. Also true when `found` returned false: the rest is
 * ignored. */
bool kube_frames_feed(KubeFrames *frames, const char *data, gsize len, GError **error);

/* The end. False with ERR_UNAVAILABLE if an object is incomplete. For a list *ret_rest is the object without
 * the items ("metadata"), the caller's; for a watch it is NULL. */
bool kube_frames_end(KubeFrames *frames, json_t **ret_rest, GError **error);

typedef enum {
        WATCH_ADDED,
        WATCH_MODIFIED,
        WATCH_DELETED,
        WATCH_BOOKMARK,
        WATCH_ERROR,
        WATCH_UNKNOWN
} KubeWatchType;
/* The type of a frame of a watch; *ret_object is borrowed from it, NULL with WATCH_UNKNOWN. */
KubeWatchType kube_watch_type(json_t *frame, json_t **ret_object);
