/* The `setting` of a cluster of type Kubernetes or K3S: one JSON object. All keys are optional; the table in
 * setting.c lists them, and another key is refused by name. A text that is not an object is a note of an
 * administrator, and sets nothing. Plain data; pure. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* The registry to which images are pushed and from which they are pulled. */
typedef struct {
        char *address;             /* "HOST[:PORT][/PREFIX]"; NULL: no registry */
        char *username, *password; /* both or none */
        bool insecure;             /* plain HTTP */
} SettingRegistry;

/* Sources for `pip install` in images. NULL: those of the server's own pip. */
typedef struct {
        char *index;    /* URL */
        char **trusted; /* hosts that need no certificate; NULL: none */
} SettingPip;

/* How users' templates may exceed model/baseline-fields.h, which explains each list. NULL: not at all. */
typedef struct {
        char **tolerations, **runtime_classes, **priority_classes, **volumes, **service_accounts, **resources,
                **metadata;
} SettingAllow;

/* What jobs may mount beside homes (pod/mounts.h). NULL: nothing. */
typedef struct {
        char **host_paths; /* directories of the nodes; "%s" is the user, "%%" a percent sign */
        char **claims;     /* names of PersistentVolumeClaims in the jobs' namespaces */
} SettingMounts;

/* The location of a datacenter's homes, or of `public`. Exactly one of the three sources is set. "%s" in
 * texts is the user, "%%" a percent sign. */
typedef struct {
        char *name; /* of the entry: a datacenter, or "public" */
        char *host_path;
        char *claim, *sub_path; /* sub_path may be NULL */
        char **monitors;        /* cephfs */
        char *ceph_path, *ceph_user, *ceph_secret;
        bool read_only; /* always true for `public` */
} SettingVolume;

typedef struct {
        char *image;      /* for jobs that name none; or NULL */
        char *form;       /* the form of jobs (form.h); NULL: the default */
        char **operators; /* frameworks whose jobs third-party operators run (form.h); NULL: none */
        char *builder;    /* an image with buildah; set if there is a registry */
        SettingRegistry registry;
        SettingPip pip;
        SettingAllow allow;
        SettingMounts mounts;
        gint64 log_streams;    /* limit of pod logs followed at one time; 0: the default (follow.h) */
        bool volcano;          /* Volcano schedules pods */
        char **new_privileges; /* users whose pods keep the container runtime's defaults; NULL: none */
        bool non_root;         /* no pod of a job runs as root */
        bool network_policies; /* the cluster's network plugin enforces them */
        char **egress, **build_egress; /* allowed destinations of pods of jobs, and of builders (policy.h);
                                          NULL: all */
        char *datacenter;              /* name of the entry with the homes; NULL: the server's datacenter */
        GPtrArray *volumes;            /* SettingVolume; never NULL */
} Setting;

#define SETTING_PUBLIC "public"

/* NULL with ERR_INVALID that names the key ("registry.address: ..."). `text` may be NULL. */
Setting *setting_parse(const char *text, GError **error);
void setting_free(Setting *setting); /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Setting, setting_free)

/* NULL: no entry of this name. */
const SettingVolume *setting_volume(const Setting *setting, const char *name);

/* `text` with "%s" replaced by the user and "%%" by "%"; the caller's. */
char *setting_for_user(const char *text, const char *user);
