/* Images for jobs with a package or requirements: their names, their builds, and the changes to pods. Pure:
 * texts and JSON trees.
 *
 * In an image the package's contents are IMAGE_WORK, its working directory. They are also available under the
 * package's own name in IMAGE_BY_NAME, where Python searches for modules. */
#pragma once

#include "base/json.h"
#include "model/resources.h"
#include "runtime/kubernetes/pod/setting.h"

#define IMAGE_WORK "/paddle/work"
#define IMAGE_BY_NAME "/paddle/path"

/* A parsed reference: "paddle:2.6" is library/paddle, tag 2.6, of docker.io. */
typedef struct {
        char *host;   /* "docker.io", "reg.local:5000" */
        char *path;   /* "library/paddle" */
        char *tag;    /* "latest" if it has neither tag nor digest; NULL: only a digest */
        char *digest; /* "sha256:..." or NULL */
} ImageName;

/* ERR_INVALID naming the reference. */
bool image_name_parse(const char *text, ImageName *ret, GError **error);
void image_name_clear(ImageName *name);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ImageName, image_name_clear)
char *image_name_by_digest(const ImageName *name,
                           const char *digest); /* "HOST/PATH@sha256:..."; the caller's */

/* Everything that decides the content of an image. */
typedef struct {
        const char *base;         /* by digest */
        const char *package;      /* its hash; or NULL */
        const char *package_name; /* or NULL */
        const char *requirements; /* normalised; or NULL */
        const char *pip;          /* the settings that decide which files an index offers */
        const char *setup;        /* command that runs in the package at the end; or NULL */
} ImageRecipe;

/* "image-" and 32 hex digits; the caller's. The name of the build, and the tag of the image. */
char *image_key(const ImageRecipe *recipe);
char *image_reference(const SettingRegistry *registry,
                      const char *key); /* the name under which it is pushed; the caller's */

/* Credentials in the format of container tools: {"auths": {HOST: {"auth": ...}}}; the caller's. */
char *image_credentials(const SettingRegistry *registry);

/* The secret with which nodes pull from the registry, named by its content; NULL: the registry needs none.
 * The caller's. */
char *image_pull_secret_name(const SettingRegistry *registry);
json_t *image_pull_secret(const SettingRegistry *registry, const char *namespace);

/* The Job that builds an image. The files for it are not in the object: the pod waits until they are put into
 * its directory IMAGE_STAGE (see image_delivery()). */
#define IMAGE_CONTAINER "build"
#define IMAGE_LABEL "paddle-image"
typedef struct {
        const Setting *setting;
        const char *namespace, *key;
        const char *server; /* the server that builds it: several may share a cluster */
        const char *base;   /* by digest */
        const char *package_name;
        const char *pull_secret; /* or NULL */
        Resources limits;        /* of its container; 0: none */
        gint64 time_limit_ms;    /* 0: two hours */
} ImageBuild;
json_t *image_job(const ImageBuild *build);

/* The relevant one of two pods of such a Job (if the first was evicted from its node, there is a second): one
 * that may still run, else the newer one. NULL: there is none. */
const json_t *image_pod(const json_t *one, const json_t *other);

/* The command that reads a tar of `size` bytes from its standard input, all or nothing, and does nothing if
 * it is already there. The tar has "work/" (the package), "requirements.txt", "setup", "pip.conf",
 * "auth.json". The caller's. */
char **image_delivery(gint64 size);

/* "[global]\nindex-url = ...": the configuration of pip in a build. `server`: the settings of the server's
 * own pip (option to value), used where the cluster's setting has none. The caller's. */
char *image_pip_config(const SettingPip *pip, GHashTable *server);

/* Sets the image in a pod's spec and, for a job with a package, the working directory and the variables that
 * name it. */
void image_put(json_t *pod_spec, const char *container, const char *image, bool has_package,
               const char *pull_secret);
