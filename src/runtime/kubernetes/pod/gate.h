/* The gate in pods: how the program paddle-gate (src/gate) is put into containers that have no files of ours,
 * and what it does there. It is in a ConfigMap of the namespace, named by its content. Pure: JSON trees that
 * are changed in place. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/json.h"

#define GATE_CONTAINER "gate"

char *gate_config_map_name(void); /* the caller's */
json_t *gate_config_map(const char *namespace);

/* The member's own container. */
json_t *gate_main_of(const json_t *pod_spec);

/* An init container in the image of `container`, with its resources and rights, so that it meets the same
 * quotas and security rules of the namespace. */
json_t *gate_beside(const json_t *container, const char *name);

/* True if the pod needs that ConfigMap. */
bool gate_is_used(const json_t *pod_spec);

/* Adds an init container in the main one's image that waits until all addresses listen ("HOST:PORT[,PORT]").
 * NULL or empty: nothing to wait for. */
void gate_wait(json_t *pod, const char *const *addresses);

/* Lets the main container begin with the gate, which sets the variables of its member: those of the file
 * "<role>-<index>" in `config_map`. `member_field`: a field of the pod that ends with its index. `once`: its
 * program never runs a second time in the pod, whatever the kubelet does. */
void gate_run(json_t *pod, const char *config_map, const char *role, const char *member_field, bool once);

/* Lets its program call others and be called (src/gate/shell.c): the main container gets PADDLE_GATE, the
 * gate's path, PADDLE_GATE_SECRET, from the Secret of that name (`gate_secret`), and PADDLE_GATE_HOST, the
 * address of the pod. */
void gate_lend(json_t *pod, const char *secret);
json_t *gate_secret(const char *namespace, const char *name); /* a new one, random */

/* Gives its program a terminal (terminal/terminal.h), held by the gate; `hangup_ms` as in TaskStart. Call it
 * after all other changes of the command. */
void gate_terminal(json_t *pod, gint64 hangup_ms);
/* The command in the container that connects to the terminal; NULL-terminated. */
extern const char *const gate_relay[];

/* A file of variables, from entries of a container's `env` (name, value); the caller's. */
char *gate_variables_format(const json_t *env);
