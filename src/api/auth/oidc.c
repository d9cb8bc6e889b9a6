/* See oidc.h. What is known of the issuer is one object that is replaced whole; `lock` is held for moments
 * only, `fetching` by the one thread that asks the issuer for its documents. */
#include "api/auth/oidc.h"

#include <string.h>

#include "api/auth/auth.h"
#include "api/auth/jwt.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/text-cut.h"
#include "net/client.h"

enum {
        FRESH_MS = 3600 * 1000,
        KEEP_MS = 24 * 3600 * 1000,
        RETRY_MS = 5 * 1000, /* between looks at the issuer's documents, whatever for */
        BODY_MAX = 256 * 1024,
        URL_BYTES_MAX = 2048,
        CODE_MAX = 64,   /* a person types it */
        SHOWN_MAX = 200, /* of an error of the issuer */
        INTERVAL = 5,    /* s, RFC 8628, 3.2 */
        INTERVAL_MAX = 60,
        EXPIRES_MAX = 3600,
};
#define DEVICE_GRANT "urn:ietf:params:oauth:grant-type:device_code"

typedef struct {
        char *keys_url, *device_url, *token_url; /* the latter two: NULL when the issuer has none */
        bool secret_in_body;
        JwkSet *keys;
        gint64 read_ms; /* monotonic */
        gatomicrefcount refs;
} Known;

struct Oidc {
        char *issuer, *client, *secret, *ca;
        bool is_local; /* on the loopback without TLS: so may be its addresses */
        gint stopping;
        GMutex lock, fetching;
        Known *known;    /* or NULL */
        gint64 tried_ms; /* when documents were asked for last */
        GError *failure; /* of that; NULL: none */
};

static Known *known_ref(Known *known)
{
        g_atomic_ref_count_inc(&known->refs);
        return known;
}

static void known_unref(Known *known)
{
        if (!known || !g_atomic_ref_count_dec(&known->refs))
                return;
        g_free(known->keys_url);
        g_free(known->device_url);
        g_free(known->token_url);
        jwk_set_free(known->keys);
        g_free(known);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Known, known_unref)

/* ---- addresses ---- */

typedef struct {
        char *base, *path;
} Address;

static void address_clear(Address *address)
{
        g_free(address->base);
        g_free(address->path);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Address, address_clear)

/* https://HOST[:PORT][/PATH], or, where that is allowed, http:// on the loopback. */
static bool parse_address(const char *what, const char *url, bool allow_local, Address *ret, GError **error)
{
        bool tls = g_str_has_prefix(url, "https://");
        const char *host = url + (tls ? 8 : 7);
        g_autofree char *authority = NULL, *shown = err_shown(url);
        bool plain = false;

        if (tls || g_str_has_prefix(url, "http://")) {
                authority = g_strndup(host, strcspn(host, "/?"));
                plain = true;
                for (const char *at = url; *at; at++)
                        plain = plain && g_ascii_isgraph(*at) && !strchr("\"<>\\^`{|}#", *at);
                plain = plain && *authority && !strchr(authority, '@') && strlen(url) <= URL_BYTES_MAX;
        }
        if (!plain)
                return err_set(error, ERR_INVALID, "%s: '%.300s' is no address such as https://HOST/PATH",
                               what, shown);
        if (!tls && !(allow_local && host_is_local(authority)))
                return err_set(error, ERR_INVALID,
                               "%s: '%.300s' is not https:// (http:// is for the loopback)", what, shown);
        ret->base = g_strconcat(tls ? "https://" : "http://", authority, NULL);
        host += strlen(authority);
        ret->path = *host == '/' ? g_strdup(host) : g_strconcat("/", host, NULL);
        return true;
}

/* An address of the issuer's document. NULL without an error: it has none. */
static char *take_address(const Oidc *oidc, const json_t *document, const char *name, GError **error)
{
        g_auto(Address) address = { 0 };
        const char *url = NULL;

        if (!json_get_string(document, "", name, URL_BYTES_MAX, &url, error) ||
            (url && !parse_address(name, url, oidc->is_local, &address, error)))
                return NULL;
        return g_strdup(url);
}

/* ---- calls ---- */

/* The cause in the issuer's name: the client's own words are about servers of the platform. */
static bool set_away(const Oidc *oidc, const char *cause, GError **error)
{
        g_autofree char *line = text_first_line(cause);

        return err_set(error, ERR_UNAVAILABLE,
                       "the issuer '%s' cannot be asked: %s\nOther ways to log in go on. Try again in a "
                       "moment, or tell an administrator.",
                       oidc->issuer, line);
}

/* `form` NULL: GET. True when a reply came, of whatever status but a redirection. */
static bool call(const Oidc *oidc, const char *url, const char *form, const char *header, HttpReply *ret,
                 GError **error)
{
        const char *const headers[] = { "Accept: application/json", header, NULL };
        g_auto(Address) address = { 0 };
        g_autoptr(HttpClient) client = NULL;
        g_autoptr(GError) cause = NULL;
        HttpCall what = { .method = form ? "POST" : "GET",
                          .type = "application/x-www-form-urlencoded",
                          .body = form,
                          .body_len = form ? strlen(form) : 0,
                          .headers = headers,
                          .timeout_ms = OIDC_CALL_MS,
                          .until_us = g_get_monotonic_time() + OIDC_CALL_MS * 1000LL,
                          .body_max = BODY_MAX };

        if (g_atomic_int_get(&oidc->stopping))
                return err_set(error, ERR_UNAVAILABLE, "the server is stopping\nTry again in a moment.");
        if (!parse_address("the address", url, oidc->is_local, &address, &cause) ||
            !(client = http_client_new(address.base, NULL, &cause)))
                return set_away(oidc, cause->message, error);
        what.path = address.path;
        http_client_set_tls(client, &(HttpClientTls){ .ca = oidc->ca });
        if (!http_call(client, &what, ret, &cause))
                return set_away(oidc, cause->message, error);
        if (ret->status >= 300 && ret->status < 400)
                return set_away(oidc, "it answers with a redirection, which is not followed", error);
        return true;
}

static bool fetch(const Oidc *oidc, const char *url, HttpReply *ret, GError **error)
{
        g_autofree char *cause = NULL;

        if (!call(oidc, url, NULL, NULL, ret, error))
                return false;
        cause = g_strdup_printf("'%s' answers %d", url, ret->status);
        return ret->status == 200 || set_away(oidc, cause, error);
}

/* The secret goes to the token endpoint as the issuer takes it: in a header where it does not say. */
static char *authorization(const Oidc *oidc)
{
        g_autofree char *id = g_uri_escape_string(oidc->client, NULL, FALSE);
        g_autofree char *secret = g_uri_escape_string(oidc->secret, NULL, FALSE);
        g_autofree char *both = g_strconcat(id, ":", secret, NULL);
        g_autofree char *text = g_base64_encode((const guchar *)both, strlen(both));

        return g_strconcat("Authorization: Basic ", text, NULL);
}

/* A form, with the client's name and secret. */
static bool post(const Oidc *oidc, const Known *known, const char *url, const char *form, HttpReply *ret,
                 GError **error)
{
        g_autofree char *client = g_uri_escape_string(oidc->client, NULL, FALSE);
        g_autofree char *secret =
                oidc->secret && known->secret_in_body ? g_uri_escape_string(oidc->secret, NULL, FALSE) : NULL;
        g_autofree char *header = oidc->secret && !secret ? authorization(oidc) : NULL;
        g_autofree char *whole =
                g_strconcat(form, "&client_id=", client, secret ? "&client_secret=" : NULL, secret, NULL);

        return call(oidc, url, whole, header, ret, error);
}

/* ---- what is known of it ---- */

static bool takes_secret_in_body(const json_t *document)
{
        const json_t *methods = json_object_get(document, "token_endpoint_auth_methods_supported"), *method;
        bool body = false;
        size_t i;

        json_array_foreach(methods, i, method) {
                if (g_strcmp0(json_string_value(method), "client_secret_basic") == 0)
                        return false;
                body = body || g_strcmp0(json_string_value(method), "client_secret_post") == 0;
        }
        return body;
}

static bool take_document(const Oidc *oidc, const HttpReply *reply, Known *known, GError **error)
{
        g_autoptr(json_t) document = json_parse(reply->body->str, reply->body->len, error);
        const char *issuer = NULL;
        GError *failure = NULL;

        if (!document || !json_get_string(document, "", "issuer", URL_BYTES_MAX, &issuer, error))
                return false;
        if (g_strcmp0(issuer, oidc->issuer) != 0)
                return err_set(error, ERR_INVALID, "its document is of another issuer, '%.200s'",
                               issuer ? issuer : "");
        known->keys_url = take_address(oidc, document, "jwks_uri", &failure);
        if (!failure)
                known->device_url = take_address(oidc, document, "device_authorization_endpoint", &failure);
        if (!failure)
                known->token_url = take_address(oidc, document, "token_endpoint", &failure);
        if (!failure && !known->keys_url)
                err_set(&failure, ERR_INVALID, "its document has no 'jwks_uri'");
        known->secret_in_body = takes_secret_in_body(document);
        if (failure)
                g_propagate_error(error, failure);
        return !failure;
}

static Known *read_documents(const Oidc *oidc, GError **error)
{
        g_autofree char *url = g_strconcat(oidc->issuer, g_str_has_suffix(oidc->issuer, "/") ? "" : "/",
                                           ".well-known/openid-configuration", NULL);
        g_auto(HttpReply) document = { 0 }, keys = { 0 };
        g_autoptr(Known) known = g_new0(Known, 1);
        g_autoptr(GError) cause = NULL;

        g_atomic_ref_count_init(&known->refs);
        if (!fetch(oidc, url, &document, error))
                return NULL;
        if (!take_document(oidc, &document, known, &cause)) {
                set_away(oidc, cause->message, error);
                return NULL;
        }
        if (!fetch(oidc, known->keys_url, &keys, error))
                return NULL;
        known->keys = jwk_set_parse(keys.body->str, keys.body->len, &cause);
        if (!known->keys) {
                set_away(oidc, cause->message, error);
                return NULL;
        }
        known->read_ms = clock_monotonic_ms();
        return g_steal_pointer(&known);
}

/* The issuer's data if they are younger than `age_ms`; else NULL. */
static Known *look(Oidc *oidc, gint64 age_ms)
{
        Known *known = NULL;

        g_mutex_lock(&oidc->lock);
        if (oidc->known && clock_monotonic_ms() - oidc->known->read_ms < age_ms)
                known = known_ref(oidc->known);
        g_mutex_unlock(&oidc->lock);
        return known;
}

/* The issuer was asked a moment ago; with an error when it failed then. */
static bool was_asked(Oidc *oidc, GError **error)
{
        bool asked;

        g_mutex_lock(&oidc->lock);
        asked = oidc->tried_ms && clock_monotonic_ms() - oidc->tried_ms < RETRY_MS;
        if (asked && oidc->failure)
                g_propagate_error(error, g_error_copy(oidc->failure));
        g_mutex_unlock(&oidc->lock);
        return asked;
}

static void note(Oidc *oidc, Known *known, const GError *failure)
{
        g_autoptr(Known) old = NULL;

        g_mutex_lock(&oidc->lock);
        g_clear_error(&oidc->failure);
        oidc->failure = failure ? g_error_copy(failure) : NULL;
        oidc->tried_ms = clock_monotonic_ms();
        if (known) {
                old = oidc->known;
                oidc->known = known_ref(known);
        }
        g_mutex_unlock(&oidc->lock);
        if (failure)
                log_warning("single sign-on: the issuer cannot be asked", "error", failure->message, NULL);
}

/* Asks the issuer again, at most every RETRY_MS. One thread does; with `wait` others wait for it. */
static void refresh(Oidc *oidc, bool wait, GError **error)
{
        g_autoptr(Known) known = NULL;
        g_autoptr(GError) failure = NULL;

        if (!wait && !g_mutex_trylock(&oidc->fetching))
                return;
        if (wait)
                g_mutex_lock(&oidc->fetching);
        if (!was_asked(oidc, &failure)) {
                known = read_documents(oidc, &failure);
                if (!g_atomic_int_get(&oidc->stopping))
                        note(oidc, known, failure);
        }
        g_mutex_unlock(&oidc->fetching);
        if (failure)
                g_propagate_error(error, g_steal_pointer(&failure));
}

/* What is known after another look at the issuer's documents, by this thread or by the one it waited for;
 * NULL: nothing newer than `old`. */
static Known *renew(Oidc *oidc, const Known *old)
{
        g_autoptr(Known) known = NULL;

        refresh(oidc, true, NULL);
        known = look(oidc, KEEP_MS);
        return known != old ? g_steal_pointer(&known) : NULL;
}

static Known *get_known(Oidc *oidc, GError **error)
{
        g_autoptr(Known) known = look(oidc, FRESH_MS);
        g_autoptr(GError) failure = NULL;
        bool old = false;

        if (known)
                return g_steal_pointer(&known);
        known = look(oidc, KEEP_MS);
        old = known != NULL;
        known_unref(g_steal_pointer(&known));
        refresh(oidc, !old, &failure);
        known = look(oidc, KEEP_MS);
        if (!known && failure)
                g_propagate_error(error, g_steal_pointer(&failure));
        else if (!known)
                set_away(oidc, "its keys are not known", error);
        return g_steal_pointer(&known);
}

/* ---- tokens ---- */

json_t *oidc_verify(Oidc *oidc, const char *token, const char *nonce, GError **error)
{
        JwtExpected expected = { oidc->issuer, oidc->client, nonce, clock_now_ms() / 1000 };
        g_autoptr(Known) known = get_known(oidc, error), newer = NULL;
        g_autoptr(GError) refused = NULL;
        g_autoptr(json_t) claims = NULL;
        bool unknown_key = false;

        if (!known)
                return NULL;
        claims = jwt_verify(token, known->keys, &expected, &unknown_key, &refused);
        if (!claims && unknown_key && (newer = renew(oidc, known))) {
                g_clear_error(&refused);
                claims = jwt_verify(token, newer->keys, &expected, &unknown_key, &refused);
        }
        if (refused)
                g_propagate_error(error, g_steal_pointer(&refused));
        return g_steal_pointer(&claims);
}

/* ---- the device flow ---- */

/* The issuer answers, and what is wrong does not pass: the cause, for an administrator. */
static bool set_wrong(const Oidc *oidc, const char *cause, GError **error)
{
        return err_set(
                error, ERR_FAILED,
                "no log-in through the issuer '%s' is possible: %s\nTell an administrator. Other ways to "
                "log in go on.",
                oidc->issuer, cause);
}

static Known *known_with_devices(Oidc *oidc, GError **error)
{
        g_autoptr(Known) known = get_known(oidc, error);

        if (!known || (known->device_url && known->token_url))
                return g_steal_pointer(&known);
        set_wrong(oidc, "it has no device flow (RFC 8628)", error);
        return NULL;
}

/* {"error", "error_description"} of RFC 6749, 5.2. Borrowed; NULL: it is none. */
static const char *error_of(const json_t *reply)
{
        return jwt_text(reply, "error", SHOWN_MAX);
}

static bool set_refused(const Oidc *oidc, const HttpReply *reply, const json_t *body, GError **error)
{
        bool passes =
                reply->status < 400 || reply->status >= 500 || reply->status == 408 || reply->status == 429;
        const char *word = error_of(body), *words = jwt_text(body, "error_description", SHOWN_MAX);
        g_autofree char *cause = g_strdup_printf("it answers %d %s%s%s", reply->status, word ? word : "",
                                                 words ? ": " : "", words ? words : "");

        return passes ? set_away(oidc, cause, error) : set_wrong(oidc, cause, error);
}

/* The code and address that a person is shown. */
static bool check_device(const Oidc *oidc, const json_t *body, json_t **ret, GError **error)
{
        const char *device = jwt_text(body, "device_code", DEVICE_CODE_MAX);
        const char *code = jwt_text(body, "user_code", CODE_MAX);
        const char *url = jwt_text(body, "verification_uri", URL_BYTES_MAX);
        const char *complete = jwt_text(body, "verification_uri_complete", URL_BYTES_MAX);
        g_auto(Address) address = { 0 }, whole = { 0 };
        gint64 expires = 0, interval = INTERVAL;

        if (!url) /* the older name, as Google has it */
                url = jwt_text(body, "verification_url", URL_BYTES_MAX);
        if (!device || !code || !url)
                return err_set(error, ERR_INVALID, "its code, or where to enter it, is missing");
        if (!g_str_is_ascii(code))
                return err_set(error, ERR_INVALID, "its code cannot be typed");
        if (!parse_address("verification_uri", url, oidc->is_local, &address, error) ||
            (complete &&
             !parse_address("verification_uri_complete", complete, oidc->is_local, &whole, error)) ||
            !json_get_int(body, "", "expires_in", 1, G_MAXINT, &expires, error) ||
            !json_get_int(body, "", "interval", 0, G_MAXINT, &interval, error))
                return false;
        *ret = json_pack("{s:s, s:s, s:s, s:s*, s:I, s:I}", "device_code", device, "user_code", code,
                         "verification_uri", url, "verification_uri_complete", complete, "expires_in",
                         (json_int_t)CLAMP(expires, 1, EXPIRES_MAX), "interval",
                         (json_int_t)CLAMP(interval, 1, INTERVAL_MAX));
        return true;
}

json_t *oidc_device_start(Oidc *oidc, GError **error)
{
        g_autoptr(Known) known = known_with_devices(oidc, error);
        g_auto(HttpReply) reply = { 0 };
        g_autoptr(json_t) body = NULL, checked = NULL;
        g_autoptr(GError) cause = NULL;

        if (!known || !post(oidc, known, known->device_url, "scope=openid%20profile%20email", &reply, error))
                return NULL;
        body = json_parse(reply.body->str, reply.body->len, NULL);
        if (reply.status != 200)
                set_refused(oidc, &reply, body, error);
        else if (!check_device(oidc, body, &checked, &cause))
                set_away(oidc, cause->message, error);
        return g_steal_pointer(&checked);
}

static const struct {
        const char *word;
        ErrCode code; /* ERR_FAILED: none, it is a state */
        DeviceState state;
        const char *words;
} answers[] = {
        { "authorization_pending", ERR_FAILED, DEVICE_PENDING, NULL },
        { "slow_down", ERR_FAILED, DEVICE_SLOWER, NULL },
        { "access_denied", ERR_DENIED, DEVICE_DONE, "the log-in was denied at the issuer" },
        { "expired_token", ERR_GONE, DEVICE_DONE,
          "the code was not entered in time, so it has expired\nBegin again: `paddle login --sso`." },
        { "invalid_grant", ERR_GONE, DEVICE_DONE,
          "the issuer does not know this code, or it was used already\nBegin again: `paddle login --sso`." },
};

static bool take_answer(const Oidc *oidc, const HttpReply *reply, const json_t *body, DeviceState *ret,
                        char **ret_token, GError **error)
{
        const char *token = jwt_text(body, "id_token", JWT_MAX), *word = error_of(body);

        if (reply->status == 200 && token) {
                *ret = DEVICE_DONE;
                *ret_token = g_strdup(token);
                return true;
        }
        for (gsize i = 0; word && reply->status >= 400 && i < G_N_ELEMENTS(answers); i++) {
                if (strcmp(answers[i].word, word) != 0)
                        continue;
                if (answers[i].words)
                        return err_set(error, answers[i].code, "%s", answers[i].words);
                *ret = answers[i].state;
                return true;
        }
        return set_refused(oidc, reply, body, error);
}

bool oidc_device_poll(Oidc *oidc, const char *device_code, DeviceState *ret, char **ret_token, GError **error)
{
        g_autoptr(Known) known = known_with_devices(oidc, error);
        g_autofree char *code = g_uri_escape_string(device_code, NULL, FALSE);
        g_autofree char *form = g_strconcat("grant_type=" DEVICE_GRANT "&device_code=", code, NULL);
        g_auto(HttpReply) reply = { 0 };
        g_autoptr(json_t) body = NULL;

        if (!known || !post(oidc, known, known->token_url, form, &reply, error))
                return false;
        body = json_parse(reply.body->str, reply.body->len, NULL);
        return take_answer(oidc, &reply, body, ret, ret_token, error);
}

/* ---- the object ---- */

bool oidc_check_issuer(const char *issuer, GError **error)
{
        g_auto(Address) address = { 0 };

        return parse_address("issuer", issuer, true, &address, error) &&
               (!strchr(issuer, '?') || err_set(error, ERR_INVALID, "'%.300s' has a query", issuer));
}

Oidc *oidc_new(const OidcConfig *config, GError **error)
{
        Oidc *oidc;

        if (!oidc_check_issuer(config->issuer, error))
                return NULL;
        oidc = g_new0(Oidc, 1);
        oidc->issuer = g_strdup(config->issuer);
        oidc->client = g_strdup(config->client);
        oidc->secret = g_strdup(config->secret);
        oidc->ca = g_strdup(config->ca);
        oidc->is_local = !g_str_has_prefix(config->issuer, "https://");
        g_mutex_init(&oidc->lock);
        g_mutex_init(&oidc->fetching);
        return oidc;
}

void oidc_stop(Oidc *oidc)
{
        g_atomic_int_set(&oidc->stopping, 1);
}

void oidc_free(Oidc *oidc)
{
        if (!oidc)
                return;
        known_unref(oidc->known);
        g_clear_error(&oidc->failure);
        g_mutex_clear(&oidc->lock);
        g_mutex_clear(&oidc->fetching);
        g_free(oidc->issuer);
        g_free(oidc->client);
        g_free(oidc->secret);
        g_free(oidc->ca);
        g_free(oidc);
}

const char *oidc_issuer(const Oidc *oidc)
{
        return oidc->issuer;
}
