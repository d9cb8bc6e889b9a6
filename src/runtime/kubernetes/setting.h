/* What a cluster of type Kubernetes or K3S is told in its `setting`: one JSON object. All keys are optional;
 * the table in setting.c holds them, another key is refused by name. A text that is no object is somebody
 * else's note and says nothing here. Plain data; pure. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* Where images are pushed to and pulled from. */
typedef struct {
        char *address;             /* "HOST[:PORT][/PREFIX]"; NULL: there is no registry */
        char *username, *password; /* both or none */
        bool insecure;             /* plain HTTP */
} SettingRegistry;

/* The packages of `pip install` in images. NULL: those of the server's own pip. */
typedef struct {
        char *index;    /* URL */
        char **trusted; /* hosts that need no certificate; NULL: none */
} SettingPip;

/* How far users' templates may go beyond model/baseline-fields.h, which says what each list is for. NULL: no
 * further. */
typedef struct {
        char **tolerations, **runtime_classes, **priority_classes, **volumes, **service_accounts, **resources,
                **metadata;
} SettingAllow;

/* Where the files of a datacenter's homes lie, or those of `public`. One of the three sources is named. "%s"
 * in texts is the user, "%%" a percent sign. */
typedef struct {
        char *name; /* of the entry: a datacenter, or "public" */
        char *host_path;
        char *claim, *sub_path; /* sub_path: or NULL */
        char **monitors;        /* cephfs */
        char *ceph_path, *ceph_user, *ceph_secret;
        bool read_only; /* of `public` always */
} SettingVolume;

typedef struct {
        char *image;      /* of jobs that name none; or NULL */
        char *form;       /* what jobs become (form.h); NULL: the usual */
        char **operators; /* frameworks whose jobs others' operators run (form.h); NULL: none */
        char *builder;    /* an image with buildah; there is one when there is a registry */
        SettingRegistry registry;
        SettingPip pip;
        SettingAllow allow;
        gint64 log_streams;    /* logs of pods that are followed at once; 0: as many as usual (follow.h) */
        bool volcano;          /* Volcano places pods */
        char **new_privileges; /* users whose pods keep what the container runtime gives; NULL: nobody */
        bool non_root;         /* no pod of a job runs as root */
        bool network_policies; /* the cluster's network plugin enforces them */
        char **egress, **build_egress; /* what pods of jobs, builders connect to (policy.h); NULL: all */
        char *datacenter;              /* whose entry holds the homes; NULL: the server's */
        GPtrArray *volumes;            /* SettingVolume; never NULL */
} Setting;

#define SETTING_PUBLIC "public"

/* NULL with ERR_INVALID that names the key ("registry.address: ..."). `text`: or NULL. */
Setting *setting_parse(const char *text, GError **error);
void setting_free(Setting *setting); /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Setting, setting_free)

/* NULL: no entry of this name. */
const SettingVolume *setting_volume(const Setting *setting, const char *name);

/* `text` with its "%s" as the user and "%%" as "%"; the caller's. */
char *setting_for_user(const char *text, const char *user);
