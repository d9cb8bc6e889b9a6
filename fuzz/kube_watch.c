/* Bytes of a watch or a list as the Kubernetes client reads them. The first byte says which, and how the rest
 * is cut; the meaning must not depend on the cuts. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/json.h"
#include "kube/kind.h"
#include "kube/watch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OBJECT_MAX = 4096 };

typedef struct {
        bool ok;
        unsigned hash, count;
} Meaning;

static bool note(json_t *object, const GError *error, void *arg)
{
        Meaning *meaning = arg;
        g_autofree char *text = object ? json_format(object) : NULL;
        json_t *inner;

        g_assert_true(!object != !error);
        meaning->count++;
        meaning->hash = meaning->hash * 31 + (text ? g_str_hash(text) : (unsigned)error->code);
        if (object && kube_watch_type(object, &inner) != WATCH_UNKNOWN)
                (void)kube_controller(inner);
        return true;
}

static Meaning read_frames(const char *data, size_t size, size_t step, KubeFramesMode mode)
{
        Meaning meaning = { .ok = true, .hash = 7 };
        g_autoptr(KubeFrames) frames = kube_frames_new(mode, OBJECT_MAX, note, &meaning);
        g_autoptr(json_t) rest = NULL;
        g_autoptr(GError) error = NULL;

        for (size_t at = 0; meaning.ok && at < size; at += step)
                meaning.ok = kube_frames_feed(frames, data + at, MIN(step, size - at), &error);
        meaning.ok = meaning.ok && kube_frames_end(frames, &rest, &error);
        g_assert_true(meaning.ok == (error == NULL));
        if (rest) {
                g_autofree char *text = json_format(rest);

                meaning.hash = meaning.hash * 31 + g_str_hash(text);
        }
        return meaning;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        if (size < 2 || size > 1 << 16)
                return 0;
        KubeFramesMode mode = data[0] & 128 ? FRAMES_LIST : FRAMES_WATCH;
        Meaning whole = read_frames((const char *)data + 1, size - 1, size, mode);
        Meaning cut = read_frames((const char *)data + 1, size - 1, 1 + (data[0] & 63), mode);

        g_assert_cmpint(whole.ok, ==, cut.ok);
        g_assert_cmpuint(whole.hash, ==, cut.hash);
        g_assert_cmpuint(whole.count, ==, cut.count);
        return 0;
}
