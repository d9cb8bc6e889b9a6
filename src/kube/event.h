/* Events about objects (core/v1 Event), aggregated: an equal event (object, type, reason, message) within 10
 * minutes patches count and lastTimestamp. Per object at most 25 at once, and one every 5 s after that (more
 * are dropped). Never an error: an event that cannot be written is logged at debug level. Events that are not
 * written when the recorder is freed (before its client) are lost. */
#pragma once

#include "kube/client.h"

typedef struct KubeRecorder KubeRecorder;
KubeRecorder *kube_recorder_new(KubeClient *client, const char *component);
void kube_recorder_free(KubeRecorder *recorder);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(KubeRecorder, kube_recorder_free)

typedef enum { EVENT_NORMAL, EVENT_WARNING } KubeEventType;
void kube_event(KubeRecorder *recorder, const json_t *object, KubeEventType type, const char *reason,
                const char *format, ...) G_GNUC_PRINTF(5, 6);
