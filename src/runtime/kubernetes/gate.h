/* The gate in pods: how the program paddle-gate (src/gate) comes into containers that hold nothing of ours,
 * and what it does there. It travels in a ConfigMap of the namespace, named by its content. Pure: JSON trees
 * that are changed in place. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/json.h"

#define GATE_CONTAINER "gate"

char *gate_config_map_name(void); /* the caller's */
json_t *gate_config_map(const char *namespace);

/* The member's own container. */
json_t *gate_main_of(const json_t *pod_spec);

/* An init container in the image of `container`, with its resources and rights: what a namespace with quotas
 * or security rules asks of that one it asks of this one, too. */
json_t *gate_beside(const json_t *container, const char *name);

/* The pod needs that ConfigMap. */
bool gate_is_used(const json_t *pod_spec);

/* An init container in the main one's image waits until all addresses listen ("HOST:PORT[,PORT]"). NULL or
 * none: nothing to wait for. */
void gate_wait(json_t *pod, const char *const *addresses);

/* The main container begins with the gate, which sets the variables of its member: those of the file
 * "<role>-<index>" in `config_map`. `member_field`: a field of the pod that ends in its index. `once`: its
 * program never runs a second time in the pod, whatever the kubelet does. */
void gate_run(json_t *pod, const char *config_map, const char *role, const char *member_field, bool once);

/* Its program may call others and be called (src/gate/shell.c): the main container has PADDLE_GATE, the
 * gate's path, PADDLE_GATE_SECRET, from the Secret of that name (`gate_secret`), and PADDLE_GATE_HOST, the
 * address of the pod. */
void gate_lend(json_t *pod, const char *secret);
json_t *gate_secret(const char *namespace, const char *name); /* a new one, random */

/* Its program has a terminal (terminal/terminal.h), held by the gate; `hangup_ms` as TaskStart has it. After
 * everything else that changes the command. */
void gate_terminal(json_t *pod, gint64 hangup_ms);
/* What connects with it, as a command in the container; NULL-terminated. */
extern const char *const gate_relay[];

/* A file of variables, from entries of a container's `env` (name, value); the caller's. */
char *gate_variables_format(const json_t *env);
