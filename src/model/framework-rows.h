/* Inside model/: the rows of the framework table, and what their functions share. */
#pragma once

#include "model/framework.h"

#define THIS_MACHINE "127.0.0.1" /* the address of members on the server's own machine */

extern const Framework framework_paddle_ps, framework_paddle_collective, framework_plain,
        framework_tensorflow, framework_pytorch, framework_mpi, framework_spark;

/* False with ERR_INVALID unless the job has from `least` to `most` members of the role. */
bool check_replicas(const Spec *spec, const char *role, int least, int most, GError **error);

/* Appends "NAME=" and the formatted value. */
void env_put(GPtrArray *env, const char *name, const char *format, ...) G_GNUC_PRINTF(3, 4);

/* Replicas of the role called `name`; 0: the job has no such role. */
int spec_replicas(const Spec *spec, const char *name);

/* Members of a role that are present, by the role's index or its name; 0: the job has no such role. */
int placement_replicas(const Placement *placement, int role);
int placement_replicas_of(const Placement *placement, const char *name);

/* The port leased for the member, or 0. */
int placement_port(const Placement *placement, int role, int index);
/* The address at which others reach the member. */
const char *placement_host(const Placement *placement, int role, int index);
/* True if all members are on this machine. `role`: one that has members. */
bool placement_is_here(const Placement *placement, int role);

/* "127.0.0.1:6000,127.0.0.1:6001" of a role, in index order; "" if the job has no such role. The caller's. */
char *role_endpoints(const Placement *placement, const char *name);

/* Whole cores of a member of the role, at least 1. */
int role_cores(const Role *role);

/* Variables of every trainer, for all rows: counts and identity in the new and the PADDLE_INIT_ forms. */
void paddle_common_env(const Placement *placement, int role, int index, GPtrArray *env);

/* WORLD_SIZE, RANK and LOCAL_RANK, only for more than one member. If member 0 has a port, also MASTER_ADDR
 * and MASTER_PORT. */
void rank_env(const Placement *placement, int role, int index, GPtrArray *env);
