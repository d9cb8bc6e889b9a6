/* The gate in pods (see gate.h). Its places in a container are below /.paddle, where no image has anything:
 *
 *   /.paddle/bin/paddle-gate     the program
 *   /.paddle/members             the variables of all members of the role
 *   /.paddle/state/ran           that its program ran */
#include "runtime/kubernetes/pod/gate.h"

#include <string.h>

#include "base/id.h"
#include "gate/bytes.h"
#include "kube/kind.h"
#include "podspec/objects.h"
#include "runtime/exec.h"
#include "runtime/kubernetes/pod/member.h"

#define FOLDER "/.paddle"
#define PROGRAM FOLDER "/bin/paddle-gate"

enum {
        HASH_LEN = 10,
        EXECUTABLE = 0555,
};

static const char volume_name[] = "paddle-gate", members_name[] = "paddle-members",
                  state_name[] = "paddle-state";

char *gate_config_map_name(void)
{
        g_autofree char *hash = g_compute_checksum_for_data(G_CHECKSUM_SHA256, gate_bytes, gate_size);

        return g_strdup_printf("paddle-gate-%.*s", HASH_LEN, hash);
}

json_t *gate_config_map(const char *namespace)
{
        g_autofree char *name = gate_config_map_name(), *text = g_base64_encode(gate_bytes, gate_size);
        json_t *map = podspec_object(&kube_config_maps, namespace, name, NULL);

        podspec_label(map, "owner", "paddleflow");
        json_object_set_new(map, "immutable", json_true());
        json_object_set_new(map, "binaryData", json_pack("{s:s}", "paddle-gate", text));
        return map;
}

/* ---- parts of a pod ---- */

bool gate_is_used(const json_t *pod_spec)
{
        return podspec_has_named(json_object_get(pod_spec, "volumes"), volume_name);
}

static void add_volume(json_t *pod, const char *name, json_t *source)
{
        json_t *volumes = podspec_list(json_object_get(pod, "spec"), "volumes");

        if (!podspec_has_named(volumes, name)) {
                json_object_set_new(source, "name", json_string(name));
                json_array_append(volumes, source);
        }
        json_decref(source);
}

static void mount(json_t *container, const char *volume, const char *path, bool read_only)
{
        json_array_append_new(podspec_list(container, "volumeMounts"),
                              json_pack("{s:s, s:s, s:b}", "name", volume, "mountPath", path, "readOnly",
                                        read_only));
}

static void mount_program(json_t *pod, json_t *container)
{
        g_autofree char *name = gate_config_map_name();

        add_volume(pod, volume_name,
                   json_pack("{s:{s:s, s:i}}", "configMap", "name", name, "defaultMode", EXECUTABLE));
        mount(container, volume_name, FOLDER "/bin", true);
}

/* Templates of users may have others beside it. */
json_t *gate_main_of(const json_t *pod_spec)
{
        json_t *list = json_object_get(pod_spec, "containers"), *container;
        gsize i;

        json_array_foreach(list, i, container)
                if (g_strcmp0(kube_get_text(container, "name"), MEMBER_CONTAINER) == 0)
                        return container;
        return json_array_get(list, 0);
}

static json_t *main_of(json_t *pod)
{
        return gate_main_of(json_object_get(pod, "spec"));
}

/* ---- what it does ---- */

json_t *gate_beside(const json_t *container, const char *name)
{
        static const char *const same[] = { "image", "imagePullPolicy", "resources", "securityContext" };
        json_t *made = json_pack("{s:s}", "name", name);

        for (gsize i = 0; i < G_N_ELEMENTS(same); i++) {
                json_t *value = json_object_get(container, same[i]);

                if (value)
                        json_object_set_new(made, same[i], json_deep_copy(value));
        }
        return made;
}

void gate_wait(json_t *pod, const char *const *addresses)
{
        json_t *container, *command;

        if (!addresses || !*addresses)
                return;
        container = gate_beside(main_of(pod), GATE_CONTAINER);
        command = json_pack("[s, s]", PROGRAM, "wait");
        for (; *addresses; addresses++)
                json_array_append_new(command, json_string(*addresses));
        json_object_set_new(container, "command", command);
        mount_program(pod, container);
        json_array_append_new(podspec_list(json_object_get(pod, "spec"), "initContainers"), container);
}

static json_t *run_words(const char *role, bool once, const json_t *command)
{
        g_autofree char *files = g_strdup_printf(FOLDER "/members/%s", role);
        json_t *words = json_pack("[s, s]", PROGRAM, "run");

        if (once) {
                json_array_append_new(words, json_string("--once"));
                json_array_append_new(words, json_string(FOLDER "/state/ran"));
        }
        json_array_append_new(words, json_string(files));
        json_array_append_new(words, json_string("--"));
        json_array_extend(words, (json_t *)command);
        return words;
}

void gate_run(json_t *pod, const char *config_map, const char *role, const char *member_field, bool once)
{
        json_t *container = main_of(pod);

        json_object_set_new(container, "command",
                            run_words(role, once, json_object_get(container, "command")));
        podspec_env_field(container, "PADDLE_GATE_MEMBER", member_field);
        mount_program(pod, container);
        add_volume(pod, members_name, json_pack("{s:{s:s}}", "configMap", "name", config_map));
        mount(container, members_name, FOLDER "/members", true);
        if (once) {
                add_volume(pod, state_name, json_pack("{s:{}}", "emptyDir"));
                mount(container, state_name, FOLDER "/state", false);
        }
}

/* ---- calls between members ---- */

static const char secret_key[] = "secret";

void gate_lend(json_t *pod, const char *secret)
{
        json_t *container = main_of(pod);

        mount_program(pod, container);
        podspec_env(container, "PADDLE_GATE", PROGRAM);
        podspec_env_field(container, "PADDLE_GATE_HOST", "status.podIP");
        json_array_append_new(podspec_list(container, "env"),
                              json_pack("{s:s, s:{s:{s:s, s:s}}}", "name", "PADDLE_GATE_SECRET", "valueFrom",
                                        "secretKeyRef", "name", secret, "key", secret_key));
}

json_t *gate_secret(const char *namespace, const char *name)
{
        json_t *made = podspec_object(&kube_secrets, namespace, name, NULL);
        char half[ID_LEN + 1], other[ID_LEN + 1];

        id_new(half);
        id_new(other);
        json_object_set_new(made, "stringData",
                            json_pack("{s:o}", secret_key, json_sprintf("%s%s", half, other)));
        return made;
}

/* ---- a terminal ---- */

const char *const gate_relay[] = { PROGRAM, "relay", NULL };

void gate_terminal(json_t *pod, gint64 hangup_ms)
{
        json_t *container = main_of(pod), *words;
        g_autofree char *variable = exec_terminal_variable(),
                        *hangup = g_strdup_printf("%" G_GINT64_FORMAT, hangup_ms);
        const char *value = strchr(variable, '=') + 1;
        g_autofree char *name = g_strndup(variable, (gsize)(value - variable) - 1);

        mount_program(pod, container);
        podspec_env(container, name, value);
        words = json_pack("[s, s, s]", PROGRAM, "terminal", hangup);
        json_array_extend(words, json_object_get(container, "command"));
        json_object_set_new(container, "command", words);
}

/* ---- variables ---- */

/* As Kubernetes would have read it: "$$" is a dollar. Lines are told apart by "\n". */
static void append_value(GString *text, const char *value)
{
        for (; *value; value++) {
                if (*value == '\n')
                        g_string_append(text, "\\n");
                else if (*value == '\\')
                        g_string_append(text, "\\\\");
                else
                        g_string_append_c(text, *value);
                if (*value == '$' && value[1] == '$')
                        value++;
        }
}

char *gate_variables_format(const json_t *env)
{
        g_autoptr(GString) text = g_string_new(NULL);
        const json_t *entry;
        gsize i;

        json_array_foreach(env, i, entry) {
                const char *name = kube_get_text(entry, "name"), *value = kube_get_text(entry, "value");

                if (!name || !value) /* of a user's template, and not among what differs */
                        continue;
                g_string_append_printf(text, "%s=", name);
                append_value(text, value);
                g_string_append_c(text, '\n');
        }
        return g_string_free(g_steal_pointer(&text), FALSE);
}
