/* The server's disk: limits of users, the ledger, and the janitor with the data about jobs and users that it
 * needs. */
#pragma once

#include "engine/engine.h"
#include "package/package.h"
#include "runtime/local/identity.h"
#include "storage/janitor.h"

/* Texts as in the options of paddled, which errors name. All are borrowed as long as the Disk exists. */
typedef struct {
        const char *state_dir, *dc;
        const char *user_disk, *user_files; /* "SIZE|N%", "N|N%"; NULL: the default (doc/guide/storage.md) */
        const char *project_quota;          /* "auto", "on", "off" */
        const char *project_ids;            /* "FIRST-LAST" */
        const GPtrArray *gc;                /* "KIND=AGE[,SIZE]"; or NULL */
        gint64 gc_every_ms;                 /* 0: only on request */
        Identities *identities;             /* NULL: members run as the server */
} DiskConfig;

typedef struct Disk Disk;

/* Finds out whether the state directory is new, and records that in it. Call it before the store is
 * opened. */
Disk *disk_new(const DiskConfig *config, GError **error);
void disk_free(Disk *disk); /* NULL is a no-op */

Ledger *disk_ledger(Disk *disk);
Projects *disk_projects(Disk *disk); /* NULL: the kernel enforces no limits */
/* `arg` is a Disk: EngineConfig.may_write, HttpServerConfig.hold and .release. */
bool disk_may_write(const char *user, void *arg, GError **error);
bool disk_hold(const char *user, gint64 bytes, int files, void *arg, GError **error);
void disk_release(const char *user, gint64 bytes, int files, void *arg);

typedef struct {
        Engine *engine;
        Store *store;
        Storage *storage;
        PackageStore *packages;
} DiskParts;
/* Limits are enforced, and the janitor works, from here on ... */
void disk_start(Disk *disk, const DiskParts *parts);
/* ... to here. Call it before the engine is freed. */
void disk_stop(Disk *disk); /* NULL is a no-op */
/* Ends the janitor's work before that, so that no request waits for it. NULL is a no-op. */
void disk_quiesce(Disk *disk);
Janitor *disk_janitor(Disk *disk); /* NULL before disk_start */
