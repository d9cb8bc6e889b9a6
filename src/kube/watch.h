/* The bytes of a watch or of a list as objects, one by one, however they are cut. Pure and bounded: at most
 * `max` bytes of one object are held; one that is larger or cannot be read is told as such, and the next one
 * comes all the same. What is nested deeper than KUBE_DEPTH_MAX is null. */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

enum { KUBE_OBJECT_MAX = 64 << 20, KUBE_DEPTH_MAX = 500 };

typedef struct KubeFrames KubeFrames;
typedef enum {
        FRAMES_WATCH, /* {"type":...,"object":...} after another, with blanks between them or without */
        FRAMES_LIST,  /* the members of "items" */
} KubeFramesMode;

/* `object` is borrowed (it may be changed); NULL: `error` says why it cannot be read. False: no more, please.
 */
typedef bool (*KubeFrameFound)(json_t *object, const GError *error, void *arg);

KubeFrames *kube_frames_new(KubeFramesMode mode, gsize max, KubeFrameFound found, void *arg);
void kube_frames_free(KubeFrames *frames);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(KubeFrames, kube_frames_free)

/* False with ERR_INVALID when it is no such stream; true, too, when `found` wanted no more: the rest is
 * ignored. */
bool kube_frames_feed(KubeFrames *frames, const char *data, gsize len, GError **error);

/* The end. False with ERR_UNAVAILABLE when it came in the middle of something. Of a list *ret_rest is what is
 * beside the items ("metadata"), the caller's; of a watch it is NULL. */
bool kube_frames_end(KubeFrames *frames, json_t **ret_rest, GError **error);

typedef enum {
        WATCH_ADDED,
        WATCH_MODIFIED,
        WATCH_DELETED,
        WATCH_BOOKMARK,
        WATCH_ERROR,
        WATCH_UNKNOWN
} KubeWatchType;
/* What a frame of a watch says; *ret_object is borrowed from it, NULL with WATCH_UNKNOWN. */
KubeWatchType kube_watch_type(json_t *frame, json_t **ret_object);
