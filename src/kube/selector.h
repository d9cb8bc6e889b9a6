/* Label selectors, as in `kubectl get -l` ("a=b,c!=d,e in (x,y),f notin (z),g,!h") and as objects
 * (matchLabels, matchExpressions). Pure; bounded. The numeric comparisons > and < are not supported. */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

enum {
        KUBE_SELECTOR_MAX = 64 << 10 /* bytes of text */,
        KUBE_REQUIREMENTS_MAX = 256,
        KUBE_VALUES_MAX = 1024
};

typedef struct KubeSelector KubeSelector;

/* "" selects everything. ERR_INVALID with the part that is wrong. */
KubeSelector *kube_selector_parse(const char *text, GError **error);
/* A LabelSelector: {} selects everything; NULL and JSON's null select nothing, as in the API. */
KubeSelector *kube_selector_from_object(const json_t *object, GError **error);
void kube_selector_free(KubeSelector *selector);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(KubeSelector, kube_selector_free)

/* True if the selector matches the object's labels. */
bool kube_selector_matches(const KubeSelector *selector, const json_t *object);
/* As text that kube_selector_parse and the API server can read; the caller's. NULL: it selects nothing. */
char *kube_selector_format(const KubeSelector *selector);
/* True if the text is valid as a label's name ("app.kubernetes.io/name"), or as a label's value. */
bool kube_label_name_is_valid(const char *text);
bool kube_label_value_is_valid(const char *text);
