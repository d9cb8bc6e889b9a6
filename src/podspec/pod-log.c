/* The pure part of reading pod logs (see pod-log.h). */
#include "podspec/pod-log.h"

#include <string.h>

#include "base/err.h"
#include "kube/kind.h"
#include "kube/selector.h"

enum { FAREWELL_MAX = 256 };

static void add_names(GPtrArray *names, const json_t *containers)
{
        const json_t *container;
        size_t i;

        json_array_foreach(containers, i, container) {
                const char *name = kube_get_text(container, "name");

                if (name)
                        g_ptr_array_add(names, g_strdup(name));
        }
}

char **pod_log_containers(const json_t *pod)
{
        GPtrArray *names = g_ptr_array_new();

        add_names(names, kube_get(pod, "spec.initContainers"));
        add_names(names, kube_get(pod, "spec.containers"));
        g_ptr_array_add(names, NULL);
        return (char **)g_ptr_array_free(names, FALSE);
}

char *pod_log_selector(const json_t *deployment, GError **error)
{
        g_autoptr(KubeSelector) selector =
                kube_selector_from_object(kube_get(deployment, "spec.selector"), error);
        char *text = selector ? kube_selector_format(selector) : NULL;

        if (selector && !text)
                err_set(error, ERR_INVALID, "deployment '%s' selects no pods", kube_name(deployment));
        return text;
}

const char *pod_log_event_time(const json_t *event)
{
        static const char *const members[] = { "series.lastObservedTime", "lastTimestamp", "eventTime",
                                               "metadata.creationTimestamp" };

        for (gsize i = 0; i < G_N_ELEMENTS(members); i++) {
                const char *text = kube_get_text(event, members[i]);

                if (text && *text)
                        return text;
        }
        return "";
}

char *pod_log_event_line(const char *type, const char *reason, const char *when, const char *message)
{
        const char *const words[] = { type, reason, when, message };
        char *parts[G_N_ELEMENTS(words)], *line;

        for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
                parts[i] = g_strdelimit(g_strdup(words[i] ? words[i] : ""), "\t\r\n", ' ');
        line = g_strdup_printf("type: %s\treason: %s\teventsTime: %s\tmessage: %s", parts[0], parts[1],
                               parts[2], parts[3]);
        for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
                g_free(parts[i]);
        return line;
}

/* The words of containerd and CRI-O, as gRPC reports them. */
bool pod_log_is_farewell(const char *data, gsize len)
{
        static const char before[] = "rpc error: code = NotFound desc = ", after[] = ": not found";
        const gsize least = sizeof before + sizeof after - 2;

        return len >= least && len <= FAREWELL_MAX && memcmp(data, before, sizeof before - 1) == 0 &&
               memcmp(data + len - (sizeof after - 1), after, sizeof after - 1) == 0 &&
               !memchr(data, '\n', len);
}
