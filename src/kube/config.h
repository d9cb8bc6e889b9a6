/* The address of a cluster and our credentials: kubeconfig files (KUBECONFIG lists, contexts, client
 * certificates, tokens, exec plug-ins) and the service account of a pod. Format: the API group
 * client.authentication.k8s.io and "Organizing Cluster Access Using kubeconfig Files" of the Kubernetes
 * documentation. Plain data, no network. Files named in a kubeconfig are read at once, token files again when
 * they change (see client.h). */
#pragma once

#include <glib.h>
#include <stdbool.h>

enum {
        KUBE_CONFIG_MAX = 1 << 20, /* bytes of one file */
        KUBE_CONFIG_FILES_MAX = 64 /* in a KUBECONFIG list */
};

/* A program that prints an ExecCredential; v1 and v1beta1. */
typedef struct {
        char **argv; /* [0]: command; a relative path with a slash is relative to the kubeconfig's folder */
        char **env;  /* "NAME=value" in addition to our own environment, or NULL */
        char *api_version;
        char *install_hint;   /* or NULL */
        char *cluster_config; /* JSON of the cluster's "client.authentication.k8s.io/exec" extension, or NULL
                               */
        bool provide_cluster_info;
} KubeExecPlugin;

typedef struct {
        char *context, *cluster, *user; /* names, for messages; in a pod: "in-cluster" */
        char *server;                   /* https://host:port[/path] */
        char *namespace;                /* default namespace; "default" if none is set */
        char *ca;                       /* PEM, or NULL: the system's */
        char *tls_server_name;          /* or NULL */
        char *proxy_url;                /* or NULL */
        bool insecure;                  /* the certificate is not checked */
        char *certificate, *key;        /* PEM, or NULL */
        char *token;                    /* or NULL */
        char *token_file;               /* overrides `token`; or NULL */
        char *user_name, *password;     /* HTTP basic, or NULL */
        KubeExecPlugin *exec;           /* or NULL */
        char *as_user, *as_uid;         /* impersonation, or NULL */
        char **as_groups;               /* or NULL */
} KubeConfig;

void kube_config_free(KubeConfig *config);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(KubeConfig, kube_config_free)
KubeConfig *kube_config_copy(const KubeConfig *config);

/* Reads one document (YAML or JSON). `dir`: the base of its relative paths. NULL: relative paths are refused
 * (a kubeconfig sent over the network must contain its data), and so are exec plug-ins and files. `context`:
 * NULL: current-context. ERR_INVALID with the field and what is wrong, ERR_NOT_FOUND for an unknown context,
 * cluster or user. */
KubeConfig *kube_config_parse(const char *text, gsize len, const char *dir, const char *context,
                              GError **error);

/* `path`: a file, or NULL: the files of $KUBECONFIG (merged: the first that sets a value wins), else the
 * pod's service account if there is one, else $HOME/.kube/config. ERR_NOT_FOUND if none exists, with all
 * places that were tried. */
KubeConfig *kube_config_load(const char *path, const char *context, GError **error);

/* The service account of the pod this process runs in; ERR_NOT_FOUND outside of one. */
KubeConfig *kube_config_in_cluster(GError **error);
/* The same from a folder other than /var/run/secrets/kubernetes.io/serviceaccount. */
KubeConfig *kube_config_in_cluster_at(const char *dir, GError **error);
