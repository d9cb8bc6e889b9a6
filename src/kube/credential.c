/* Credentials that may change (see credential.h). Exec plug-ins: client.authentication.k8s.io/v1, "client-go
 * credential plugins" of the Kubernetes documentation. */
#include "kube/credential.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "kube/kind.h"
#include "kube/process.h"

enum {
        TOKEN_MAX = 64 << 10,
        PLUGIN_OUT_MAX = 1 << 20,
        PLUGIN_TIMEOUT_MS = 60000,
        PLUGIN_AGAIN_MS = 1000, /* shortest time between two runs, whatever it reports */
        FILE_LOOK_MS = 1000,
        EARLY_MS = 5000, /* before it expires */
};

struct KubeCredential {
        const KubeConfig *config;
        GMainContext *context;
        void (*changed)(void *arg);
        void *arg;
        char *authorization, *certificate, *key;
        guint generation;
        gint64 expires_ms; /* by the wall clock; 0: never */
        gint64 looked_ms;  /* at the token file; monotonic */
        struct stat seen;  /* of the token file */
        bool stale;        /* must be read again */
        KubeProcess *plugin;
        GError *error; /* of the plug-in's last run */
        gint64 ran_ms; /* the plug-in ended; monotonic, 0: never */
};

void kube_credential_free(KubeCredential *credential)
{
        if (!credential)
                return;
        kube_process_cancel(credential->plugin);
        g_free(credential->authorization);
        g_free(credential->certificate);
        g_free(credential->key);
        g_clear_error(&credential->error);
        g_clear_pointer(&credential->context, g_main_context_unref);
        g_free(credential);
}

static void set_token(KubeCredential *credential, const char *token)
{
        g_autofree char *header = token ? g_strconcat("Bearer ", token, NULL) : NULL;

        if (g_strcmp0(header, credential->authorization) != 0)
                credential->generation++;
        g_free(credential->authorization);
        credential->authorization = g_steal_pointer(&header);
}

static bool is_token(const char *text)
{
        for (; *text; text++)
                if (*text <= ' ' || *text == 0x7f)
                        return false;
        return true;
}

/* ---- Token files ---- */

static bool is_same_file(const struct stat *a, const struct stat *b)
{
        return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
               a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static bool read_token_file(KubeCredential *credential, GError **error)
{
        const char *path = credential->config->token_file;
        g_autofree char *text = NULL;
        gint64 now = clock_monotonic_ms();
        struct stat seen;

        if (credential->authorization && !credential->stale && now - credential->looked_ms < FILE_LOOK_MS)
                return true;
        credential->looked_ms = now;
        if (stat(path, &seen) == 0 && credential->authorization && !credential->stale &&
            is_same_file(&seen, &credential->seen))
                return true;
        if (!file_read(path, TOKEN_MAX, &text, NULL, error)) {
                if (!credential->authorization)
                        return err_prefix(error, "the token file: ");
                g_clear_error(error); /* it is being replaced: the old token may still be valid */
                return true;
        }
        g_strstrip(text);
        if (!*text || !is_token(text))
                return err_set(error, ERR_UNAUTHENTICATED, "the token file '%s' holds no token", path);
        set_token(credential, text);
        credential->seen = seen;
        credential->stale = false;
        return true;
}

/* ---- Exec plug-ins ---- */

static bool take_status(KubeCredential *credential, const json_t *object, GError **error)
{
        const KubeExecPlugin *plugin = credential->config->exec;
        const char *version = kube_get_text(object, "apiVersion"), *kind = kube_get_text(object, "kind");
        const char *token = kube_get_text(object, "status.token");
        const char *certificate = kube_get_text(object, "status.clientCertificateData");
        const char *key = kube_get_text(object, "status.clientKeyData");
        const char *expires = kube_get_text(object, "status.expirationTimestamp");

        if (g_strcmp0(kind, "ExecCredential") != 0 || g_strcmp0(version, plugin->api_version) != 0)
                return err_set(error, ERR_INVALID,
                               "it printed kind '%.64s' of '%.64s', not ExecCredential of '%s'",
                               kind ? kind : "", version ? version : "", plugin->api_version);
        if (!certificate != !key)
                return err_set(error, ERR_INVALID,
                               "it printed one of clientCertificateData and clientKeyData only");
        if (!token && !certificate)
                return err_set(error, ERR_INVALID, "it printed neither a token nor a certificate");
        if (token && !is_token(token))
                return err_set(error, ERR_INVALID, "its token has a blank or control character in it");
        if (expires && !kube_time(expires))
                return err_set(error, ERR_INVALID, "its expirationTimestamp '%.64s' is no time", expires);
        set_token(credential, token);
        g_free(credential->certificate);
        g_free(credential->key);
        credential->certificate = g_strdup(certificate);
        credential->key = g_strdup(key);
        credential->expires_ms = kube_time(expires);
        credential->generation++;
        credential->stale = false;
        return true;
}

static bool take_output(KubeCredential *credential, int wait_status, const GString *out, const GString *err,
                        GError **error)
{
        g_autofree char *said = g_utf8_make_valid(err->str, (gssize)MIN(err->len, 500));
        g_autoptr(json_t) object = NULL;

        if (!WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != 0)
                return err_set(error, ERR_UNAUTHENTICATED, "it ended with %s %d%s%s",
                               WIFEXITED(wait_status) ? "status" : "signal",
                               WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : WTERMSIG(wait_status),
                               *said ? ": " : "", g_strdelimit(g_strstrip(said), "\n\r", ' '));
        object = json_parse_loose(out->str, out->len, error);
        return object && take_status(credential, object, error);
}

static void on_plugin(int wait_status, const GString *out, const GString *err, const GError *error, void *arg)
{
        KubeCredential *credential = arg;
        const KubeExecPlugin *plugin = credential->config->exec;
        g_autoptr(GError) failed = error ? g_error_copy(error) : NULL;

        credential->plugin = NULL;
        g_clear_error(&credential->error);
        if (failed || !take_output(credential, wait_status, out, err, &failed))
                err_set(&credential->error, ERR_UNAUTHENTICATED, "exec plug-in '%s' of user '%s': %s%s%s",
                        plugin->argv[0], credential->config->user, failed->message,
                        plugin->install_hint ? "\n" : "", plugin->install_hint ? plugin->install_hint : "");
        credential->ran_ms = clock_monotonic_ms();
        credential->changed(credential->arg);
}

static json_t *cluster_info(const KubeConfig *config)
{
        json_t *cluster = json_pack("{s:s}", "server", config->server);

        if (config->tls_server_name)
                json_object_set_new(cluster, "tls-server-name", json_string(config->tls_server_name));
        if (config->insecure)
                json_object_set_new(cluster, "insecure-skip-tls-verify", json_true());
        if (config->proxy_url)
                json_object_set_new(cluster, "proxy-url", json_string(config->proxy_url));
        if (config->ca) {
                g_autofree char *data = g_base64_encode((const guchar *)config->ca, strlen(config->ca));

                json_object_set_new(cluster, "certificate-authority-data", json_string(data));
        }
        if (config->exec->cluster_config) {
                const char *text = config->exec->cluster_config;

                json_object_set_new(cluster, "config", json_parse_loose(text, strlen(text), NULL));
        }
        return cluster;
}

static char **plugin_environment(const KubeConfig *config)
{
        const KubeExecPlugin *plugin = config->exec;
        char **env = g_get_environ();
        g_autoptr(json_t) info = json_pack("{s:s, s:s, s:{s:b}}", "apiVersion", plugin->api_version, "kind",
                                           "ExecCredential", "spec", "interactive", 0);

        if (plugin->provide_cluster_info)
                json_object_set_new(json_object_get(info, "spec"), "cluster", cluster_info(config));
        for (char **pair = plugin->env; pair && *pair; pair++) {
                g_autofree char *name = g_strndup(*pair, strcspn(*pair, "="));

                env = g_environ_setenv(env, name, *pair + strlen(name) + 1, TRUE);
        }
        g_autofree char *text = json_format(info);
        return g_environ_setenv(env, "KUBERNETES_EXEC_INFO", text, TRUE);
}

static void start_plugin(KubeCredential *credential)
{
        g_auto(GStrv) env = plugin_environment(credential->config);
        KubeProcessConfig config = { .argv = credential->config->exec->argv,
                                     .envp = env,
                                     .context = credential->context,
                                     .out_max = PLUGIN_OUT_MAX,
                                     .timeout_ms = PLUGIN_TIMEOUT_MS,
                                     .done = on_plugin,
                                     .arg = credential };

        credential->plugin = kube_process_start(&config);
}

static KubeCredentialState check_plugin(KubeCredential *credential, GError **error)
{
        bool ran = credential->ran_ms && clock_monotonic_ms() - credential->ran_ms < PLUGIN_AGAIN_MS;

        if (credential->plugin)
                return CREDENTIAL_WAIT;
        if (!credential->stale &&
            (ran || !credential->expires_ms || clock_now_ms() < credential->expires_ms - EARLY_MS))
                return CREDENTIAL_READY;
        if (credential->error && ran) {
                if (error)
                        *error = g_error_copy(credential->error);
                return CREDENTIAL_FAILED;
        }
        start_plugin(credential);
        return CREDENTIAL_WAIT;
}

/* ---- The whole ---- */

KubeCredential *kube_credential_new(const KubeConfig *config, GMainContext *context,
                                    void (*changed)(void *arg), void *arg)
{
        KubeCredential *credential = g_new0(KubeCredential, 1);

        credential->config = config;
        credential->context = context ? g_main_context_ref(context) : NULL;
        credential->changed = changed;
        credential->arg = arg;
        credential->certificate = g_strdup(config->certificate);
        credential->key = g_strdup(config->key);
        if (config->token && !config->token_file)
                set_token(credential, config->token);
        if (config->user_name && !config->token && !config->token_file) {
                g_autofree char *pair =
                        g_strconcat(config->user_name, ":", config->password ? config->password : "", NULL);
                g_autofree char *text = g_base64_encode((const guchar *)pair, strlen(pair));

                credential->authorization = g_strconcat("Basic ", text, NULL);
        }
        if (config->exec)
                credential->stale = true;
        return credential;
}

KubeCredentialState kube_credential_check(KubeCredential *credential, GError **error)
{
        if (credential->config->exec)
                return check_plugin(credential, error);
        if (credential->config->token_file && !read_token_file(credential, error))
                return CREDENTIAL_FAILED;
        return CREDENTIAL_READY;
}

const char *kube_credential_authorization(const KubeCredential *credential)
{
        return credential->authorization;
}

const char *kube_credential_certificate(const KubeCredential *credential)
{
        return credential->certificate;
}

const char *kube_credential_key(const KubeCredential *credential)
{
        return credential->key;
}

guint kube_credential_generation(const KubeCredential *credential)
{
        return credential->generation;
}

bool kube_credential_renew(KubeCredential *credential, guint generation)
{
        if (!credential->config->exec && !credential->config->token_file)
                return false;
        if (credential->config->exec && credential->ran_ms && generation == credential->generation &&
            clock_monotonic_ms() - credential->ran_ms < PLUGIN_AGAIN_MS)
                return false; /* it was asked just now */
        if (generation == credential->generation)
                credential->stale = true;
        return true;
}
