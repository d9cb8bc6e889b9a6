/* Who calls, and what they may do: what the façades share. Tokens and peers of the Unix socket become users
 * of the catalog; log-ins give tokens, passwords are hashed and compared on a small pool of threads; access
 * is the table of model/access.h. doc/guide/people.md has the rules. Any thread. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

#include "engine/engine.h"
#include "model/access.h"
#include "net/server.h"

typedef struct Auth Auth;

/* The users whose log-ins by password require a second factor. For others it is optional. */
typedef enum {
        SECOND_FACTOR_NOBODY,
        SECOND_FACTOR_ADMINISTRATORS,
        SECOND_FACTOR_EVERYBODY,
} SecondFactorFor;
/* "nobody", "administrators", "everybody". ERR_INVALID names `what`. */
bool second_factor_for_parse(const char *what, const char *word, SecondFactorFor *ret, GError **error);

typedef struct {
        Engine *engine;
        Store *store;
        uid_t owner;            /* of the server: an administrator on the Unix socket, like root */
        gint64 token_expire_ms; /* of tokens from log-ins; 0: never */
        bool open_queues;       /* submissions need no grants of queues */
        /* Addresses from which the published password can be used for its account, besides the Unix socket;
         * NULL: none. */
        const char *const *published;
        /* True if a member of a job has this end of a connection (as in HttpCaller). May take long. NULL:
         * members have the server's rights anyway. */
        bool (*is_of_member)(const char *address, int port, pid_t pid);
        /* True if this HttpCertificate.authority is currently configured. Any thread; NULL: none is. */
        bool (*has_authority)(const char *authority, void *arg);
        void *has_authority_arg;
        struct Directory *directory; /* LDAP directory that checks the passwords of some users; NULL: none */
        struct Recorder *recorder;   /* of the audit log; NULL: no audit log */
        SecondFactorFor second_factor_for;
        const char *second_factor_key; /* path of the key that encrypts the secrets of second factors */
        const char *first_password;    /* path of the file with the first password of `root`; NULL: none */
} AuthConfig;

Auth *auth_new(const AuthConfig *config); /* borrows engine and store */
void auth_stop(Auth *auth);               /* answers waiting attempts; call it before the HTTP server is
                                             freed */
void auth_free(Auth *auth);               /* call it after the HTTP server is freed; NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Auth, auth_free)

/* ---- authentication ---- */

/* HttpServerConfig.authenticate: "Bearer TOKEN", or the peer of the Unix socket, for whom a user is created.
 * `arg` is the Auth. */
bool auth_authenticate(const char *authorization, uid_t uid, const char *address, char **ret_user,
                       HttpRight *ret_right, void *arg, GError **error);
/* HttpServerConfig.permits: whether the token's scope suffices for the route. ERR_DENIED. */
bool auth_permits(const HttpRoute *route, const HttpCaller *caller, void *arg, GError **error);
/* HttpServerConfig.credential and is_valid: the hash of the header's token; NULL: it has none. */
char *auth_credential(const char *authorization, void *arg);
bool auth_is_valid(const char *credential, void *arg);
/* The same for the token itself. */
char *auth_credential_of(const char *token);
/* HttpServerConfig.by_certificate: the user that a certificate names. `ret_credential` may be NULL.
 * ERR_UNAUTHENTICATED. */
bool auth_by_certificate(const HttpCertificate *certificate, char **ret_user, HttpRight *ret_right,
                         char **ret_credential, void *arg, GError **error);
char *auth_certificate_credential(const HttpCertificate *certificate); /* of a valid certificate; the
                                                                          caller's */
/* The user of a token. ERR_UNAUTHENTICATED. */
bool auth_by_token(Auth *auth, const char *token, char **ret_user, HttpRight *ret_right, GError **error);
/* True if a log-in with a password created this token within the last `within_ms`. */
bool auth_is_fresh_login(Auth *auth, const char *token, gint64 within_ms);
/* Sets the limits of a token that this caller creates (Authorization of the request, else its certificate; or
 * NULL). If the caller uses a log-in's token, the new one is TOKEN_OF_LOGIN with that token as parent. If the
 * caller uses a created token, the new one has no more rights: not in scope, not for other queues, not after
 * its expiry. It is deleted together with that token, unless it is another user's. Scope, queue and expiry
 * that `token` does not set become the most that is allowed. A certificate gives its expiry and its
 * authority: the token also ends when that authority is no longer configured. ERR_UNAUTHENTICATED if the
 * caller's token is unknown, ERR_DENIED. */
bool auth_descend(Auth *auth, const char *authorization, const HttpCertificate *certificate, Token *token,
                  GError **error);
/* Call it when tokens were deleted: clears the cache of tokens. */
void auth_forget_tokens(Auth *auth);

/* ---- recording ---- */

/* HttpServerConfig.record, and permits: auth_permits, and whether changes can be recorded. */
bool auth_record(const HttpRequest *request, int status, void (*done)(void *arg), void *done_arg, void *arg);
bool auth_admits(const HttpRoute *route, const HttpCaller *caller, void *arg, GError **error);
/* Records the account of a log-in attempt, if an account of that name exists. ERR_UNAVAILABLE if it cannot be
 * recorded. */
bool auth_note_login(Auth *auth, HttpRequest *request, const char *user, GError **error);

/* The log-in succeeded: the record names the user, and whether a directory checked the password. */
void auth_note_logged_in(HttpRequest *request, const char *user, bool by_directory);

/* ---- authorization ---- */

/* HttpServerConfig.access: the table, as far as it does not depend on the object. Routes of PaddleFlow are
 * public here: that API takes tokens from another header and writes its own refusals. */
HttpAccess auth_access(const HttpRoute *route, const HttpRequest *request, void *arg);
/* The same; `near`: the caller is on this machine, and is no proxy for others. */
HttpAccess auth_access_from(const HttpRoute *route, bool near);
/* The table, for an object that is the caller's own or not, or granted to them or not. */
bool auth_may(const HttpCaller *caller, AccessKind kind, AccessVerb verb, bool owner, bool granted);
/* Checks that the caller's token may work with jobs of this queue. ERR_DENIED. */
bool auth_check_queue(const HttpCaller *caller, const char *queue, GError **error);
/* Checks that the caller's token may create and change runs. ERR_DENIED: it is of one queue. */
bool auth_check_runs(const HttpCaller *caller, GError **error);
/* True if grants allow this user to submit to the queue. */
bool auth_is_granted(const Auth *auth, const Catalog *catalog, const char *user, const Queue *queue);
/* "unix", or an address of the loopback. */
bool address_is_local(const char *address);
/* True if the name by which a client calls the server (the Host header, or NULL) means this machine. It is
 * false for a page that makes a browser call the loopback by another name. */
bool host_is_local(const char *host);

/* ---- log-in ---- */

typedef struct {
        const char *user, *token;
        gint64 expires;    /* ms; 0: never */
        bool lacks_factor; /* the token can only set up a second factor until that is done */
        bool by_directory; /* LDAP checked the password */
} AuthLogin;

/* Borrowed. */
typedef struct {
        const char *user, *password;
        const char *code;      /* of the second factor, or a recovery code; NULL: none was given */
        bool code_is_appended; /* instead: if the account has a second factor, the password ends with the
                                  code */
} LoginAsk;

/* Called once: with `login`, or with an error. ERR_UNAUTHENTICATED: unknown user, wrong password or wrong
 * code, without distinction. ERR_SECOND_FACTOR: the password is right, and a code is needed. ERR_QUOTA with
 * the time to wait. ERR_UNAVAILABLE. Any thread; must not block. */
typedef void (*AuthLoginDone)(const AuthLogin *login, const GError *error, gint64 wait_ms, void *arg);
/* The origin of an attempt. Borrowed. */
typedef struct {
        const char *address; /* these three as in HttpCaller */
        int port;
        pid_t pid;
        const char *host; /* the name by which the server was called (Host), or NULL */
        bool forwarded;   /* by a proxy: the address is not the client's */
} LoginOrigin;
LoginOrigin login_origin(const HttpRequest *request);
/* True if the origin is one of older clients, which have the published password built in
 * (AuthConfig.published). Only they are told that there is no user of a name. */
bool auth_is_older_clients(const Auth *auth, const LoginOrigin *origin);
/* Logs in. The published password works only as in AuthConfig.published, and never for forwarded requests or
 * members of a job. On the loopback the client must use a name that means it. */
void auth_login(Auth *auth, const LoginAsk *ask, const LoginOrigin *origin, AuthLoginDone done, void *arg);

/* Puts a user, new or changed. `password` is hashed first (NULL: the draft's stays). */
void auth_put_user(Auth *auth, const User *draft, const char *password, const char *by, EngineDone done,
                   void *arg);

typedef struct {
        const char *user, *password;
        const char *old;     /* must be the current password; NULL: not checked */
        const char *address; /* of the client: guessing `old` is slowed down like log-ins */
        const char *by;
} PasswordChange;
/* False with ERR_CONFLICT: the user already has a second factor. */
bool auth_lacks_factor(const User *user, GError **error);
/* A directory (LDAP) is configured. */
bool auth_has_directory(const Auth *auth);
/* False with ERR_CONFLICT, which tells where to change it, if the password is in a directory. */
bool auth_password_is_here(const Auth *auth, const User *user, GError **error);
/* The caller checks the rule for new passwords. Log-ins of the user end. ERR_NOT_FOUND, ERR_DENIED if `old`
 * is wrong, ERR_QUOTA. */
void auth_change_password(Auth *auth, const PasswordChange *change, EngineDone done, void *arg);

/* ---- second factors (second-factor.h) ---- */

typedef struct {
        const char *user;
        const char *password; /* the current password; NULL: not checked, because the machine authenticates
                                 the caller (Unix socket) or an administrator acts for another user */
        const char *code;
        const char *secret;  /* from auth_new_factor_secret: base 32 */
        const char *address; /* of the client: guessing is slowed down like log-ins */
        const char *by;
} FactorChange;
typedef struct {
        AuthLogin login;             /* a new one: setting up a factor ends all earlier log-ins */
        const char *const *recovery; /* codes, NULL-terminated */
} AuthFactor;
/* Called once. ERR_DENIED for a wrong password or code, ERR_INVALID for a code that does not match the
 * secret, ERR_CONFLICT if there is a factor already, ERR_QUOTA with the time to wait. As AuthLoginDone. */
typedef void (*AuthFactorDone)(const AuthFactor *factor, const GError *error, gint64 wait_ms, void *arg);
/* A new random secret. It is used only when it is passed to auth_add_second_factor. Both outputs are the
 * caller's. */
void auth_new_factor_secret(const char *user, char **ret_secret, char **ret_uri);
void auth_add_second_factor(Auth *auth, const FactorChange *change, AuthFactorDone done, void *arg);
/* `code` may be NULL, and the password too: then they are not checked. */
void auth_drop_second_factor(Auth *auth, const FactorChange *change, AuthFactorDone done, void *arg);

/* A new token's secret, and the record that is stored; the secret is 256 random bits in base 32. */
enum { SECRET_LEN = 52 };
Token *auth_new_token(const char *user, const char *note, gint64 expires, char ret_secret[SECRET_LEN + 1]);
