/* The words of the cluster's scheduler (see unscheduled.h): framework.FitError.Error in
 * k8s.io/kubernetes/pkg/scheduler/framework/types.go, and the reasons of its plug-ins. */
#include "runtime/kubernetes/pod/unscheduled.h"

#include <string.h>

#include "kube/kind.h"
#include "model/resources.h"

#define HEAD " nodes are available: "
#define TAIL ". preemption: " /* about preemption; it repeats the reasons */

/* `%s`: the text after the words */
static const struct {
        const char *words, *one, *many;
} sentences[] = {
        { "node(s) had untolerated taint ", "node has the taint %s", "nodes have the taint %s" },
        { "node(s) had taint ", "node has the taint %s", "nodes have the taint %s" },
        { "node(s) were unschedulable", "node is cordoned", "nodes are cordoned" },
        { "node(s) didn't match Pod's node affinity/selector", "node lacks the requested labels",
          "nodes lack the requested labels" },
        { "node(s) didn't have free ports for the requested pod ports", "node has the requested ports in use",
          "nodes have the requested ports in use" },
        { "Too many pods", "node has as many pods as it may", "nodes have as many pods as they may" },
};

static char *amount_of(const json_t *spec, const char *name)
{
        const json_t *list = kube_get(spec, "containers"), *one;
        int kind = strcmp(name, "nvidia.com/gpu") == 0 ? RESOURCE_GPU : resource_find(name);
        gint64 sum = 0, each;
        gsize i;

        json_array_foreach(list, i, one) {
                const char *text =
                        json_string_value(json_object_get(kube_get(one, "resources.requests"), name));

                if (text && kind >= 0 && quantity_parse(name, kind, text, &each, NULL) &&
                    each <= G_MAXINT64 - sum)
                        sum += each;
        }
        return sum > 0 ? quantity_text(kind, sum) : NULL;
}

static char *say_lack(guint64 nodes, const char *name, const json_t *spec)
{
        g_autofree char *amount = amount_of(spec, name);

        return g_strdup_printf("%" G_GUINT64_FORMAT " %s %s%s%s", nodes,
                               nodes == 1 ? "node lacks" : "nodes lack", name, amount ? " " : "",
                               amount ? amount : "");
}

/* "{key: value}" -> "key=value" */
static char *plain(const char *rest)
{
        char *text = g_strdup(rest);

        if (*text == '{' && g_str_has_suffix(text, "}")) {
                g_auto(GStrv) parts = NULL;

                text[strlen(text) - 1] = '\0';
                parts = g_strsplit(text + 1, ": ", 2);
                g_free(text);
                text = parts[0] && parts[1] && *parts[1] ? g_strdup_printf("%s=%s", parts[0], parts[1])
                                                         : g_strdup(parts[0]);
        }
        return text ? text : g_strdup("");
}

static char *say_words(guint64 nodes, const char *words)
{
        for (gsize i = 0; i < G_N_ELEMENTS(sentences); i++) {
                const char *sentence = nodes == 1 ? sentences[i].one : sentences[i].many,
                           *gap = strstr(sentence, "%s");
                g_autofree char *rest = NULL;

                if (!g_str_has_prefix(words, sentences[i].words))
                        continue;
                rest = plain(words + strlen(sentences[i].words));
                return g_strdup_printf("%" G_GUINT64_FORMAT " %.*s%s", nodes,
                                       (int)(gap ? gap - sentence : (gssize)strlen(sentence)), sentence,
                                       gap ? rest : "");
        }
        return g_strdup_printf("%" G_GUINT64_FORMAT " of the nodes: %s", nodes, words);
}

/* "2 Insufficient memory"; NULL: not of that form. */
static char *say_item(const char *item, const json_t *spec)
{
        static const char lack[] = "Insufficient ";
        char *end;
        guint64 nodes = g_ascii_isdigit(*item) ? g_ascii_strtoull(item, &end, 10) : 0;

        if (nodes == 0 || *end != ' ')
                return NULL;
        if (g_str_has_prefix(end + 1, lack))
                return say_lack(nodes, end + sizeof lack, spec);
        return say_words(nodes, end + 1);
}

char *unscheduled_say(const char *message, const json_t *spec)
{
        const char *at = strstr(message, HEAD), *tail;
        g_autofree char *list = NULL;
        g_auto(GStrv) items = NULL;
        g_autoptr(GString) out = g_string_new(NULL);

        if (g_str_has_prefix(message, "no nodes available"))
                return g_strdup("the cluster has no nodes");
        if (!at)
                return g_strdup(message);
        at += strlen(HEAD);
        tail = strstr(at, TAIL);
        list = g_strndup(at, tail ? (gsize)(tail - at) : strlen(at));
        if (g_str_has_suffix(list, "."))
                list[strlen(list) - 1] = '\0';
        items = g_strsplit(list, ", ", -1);
        for (char **item = items; *item; item++) {
                g_autofree char *said = say_item(*item, spec);

                if (!said)
                        return g_strdup(message);
                g_string_append_printf(out, "%s%s", out->len ? ", " : "", said);
        }
        return g_strdup(out->len ? out->str : message);
}
