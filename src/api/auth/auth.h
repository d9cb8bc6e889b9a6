/* Who calls, and what they may do: what the façades share. Tokens and peers of the Unix socket become users
 * of the catalog; log-ins give tokens, passwords are hashed and compared on a small crew of threads; access
 * is the table of model/access.h. doc/guide/people.md has the rules. Any thread. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

#include "engine/engine.h"
#include "model/access.h"
#include "net/server.h"

typedef struct Auth Auth;

/* Whose log-ins by password have to have a second factor; others may. */
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
        uid_t owner;            /* of the server: an administrator on the Unix socket, as is root */
        gint64 token_expire_ms; /* of what log-ins give; 0: never */
        bool open_queues;       /* grants of queues are not asked for */
        /* Addresses from which the published password opens its account, beside the Unix socket; NULL:
         * nowhere. */
        const char *const *published;
        /* True when a member of a job holds this end of a connection (as HttpCaller has them). May take long.
         * NULL: members have the server's rights anyway. */
        bool (*is_of_member)(const char *address, int port, pid_t pid);
        /* Whether this HttpCertificate.authority is configured now. Any thread; NULL: none is. */
        bool (*has_authority)(const char *authority, void *arg);
        void *has_authority_arg;
        struct Directory *directory; /* of LDAP, which knows passwords of some users; NULL: none */
        struct Recorder *recorder;   /* of the audit log; NULL: none is kept */
        SecondFactorFor second_factor_for;
        const char *second_factor_key; /* path of the key that encrypts their secrets */
        const char *first_password;    /* path of the file with the first password of `root`; NULL: none */
} AuthConfig;

Auth *auth_new(const AuthConfig *config); /* borrows engine and store */
void auth_stop(Auth *auth);               /* answers what waits; before the HTTP server is freed */
void auth_free(Auth *auth);               /* after it is gone; NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Auth, auth_free)

/* ---- who calls ---- */

/* HttpServerConfig.authenticate: "Bearer TOKEN", or the peer of the Unix socket, who becomes a user by it.
 * `arg` is the Auth. */
bool auth_authenticate(const char *authorization, uid_t uid, const char *address, char **ret_user,
                       HttpRight *ret_right, void *arg, GError **error);
/* HttpServerConfig.permits: the token's scope is enough for the route. ERR_DENIED. */
bool auth_permits(const HttpRoute *route, const HttpCaller *caller, void *arg, GError **error);
/* HttpServerConfig.credential and is_valid: the hash of the header's token; NULL: it has none. */
char *auth_credential(const char *authorization, void *arg);
bool auth_is_valid(const char *credential, void *arg);
/* The same of the token itself. */
char *auth_credential_of(const char *token);
/* HttpServerConfig.by_certificate: the user whom a certificate names. `ret_credential` may be NULL.
 * ERR_UNAUTHENTICATED. */
bool auth_by_certificate(const HttpCertificate *certificate, char **ret_user, HttpRight *ret_right,
                         char **ret_credential, void *arg, GError **error);
char *auth_certificate_credential(const HttpCertificate *certificate); /* of one that holds; the caller's */
/* Whose token it is. ERR_UNAUTHENTICATED. */
bool auth_by_token(Auth *auth, const char *token, char **ret_user, HttpRight *ret_right, GError **error);
/* Was this token given by a log-in with a password, not longer ago than `within_ms`? */
bool auth_is_fresh_login(Auth *auth, const char *token, gint64 within_ms);
/* What a token that is made by this caller is (Authorization: of the request, else its certificate; or NULL):
 * TOKEN_OF_LOGIN, with the parent it then has, when a log-in's token asks. One that is made with a made token
 * reaches no further: not in scope, not to other queues, not beyond its end, and goes when it goes, unless it
 * is another user's. What `token` does not say of scope, queue and end becomes as much as may be. A
 * certificate gives its end and its authority: the token ends when that is no longer configured, too.
 * ERR_UNAUTHENTICATED when the asking one is not known any more, ERR_DENIED.
 */
bool auth_descend(Auth *auth, const char *authorization, const HttpCertificate *certificate, Token *token,
                  GError **error);
/* Tokens were dropped: what is remembered of them is forgotten. */
void auth_forget_tokens(Auth *auth);

/* ---- what is recorded ---- */

/* HttpServerConfig.record, and permits: auth_permits, and whether changes can be recorded. */
bool auth_record(const HttpRequest *request, int status, void (*done)(void *arg), void *done_arg, void *arg);
bool auth_admits(const HttpRoute *route, const HttpCaller *caller, void *arg, GError **error);
/* A log-in is tried: says for which account, if there is one of that name. ERR_UNAVAILABLE when it cannot be
 * recorded. */
bool auth_note_login(Auth *auth, HttpRequest *request, const char *user, GError **error);

/* It was a success: the record names the user, and says so when a directory knew the password. */
void auth_note_logged_in(HttpRequest *request, const char *user, bool by_directory);

/* ---- what they may do ---- */

/* HttpServerConfig.access: the table, as far as it does not depend on the thing. Routes of PaddleFlow are
 * public here: its façade takes tokens from another header and refuses in its own words. */
HttpAccess auth_access(const HttpRoute *route, const HttpRequest *request, void *arg);
/* The same; `near`: who asks is on this machine, and no proxy that asks for somebody else. */
HttpAccess auth_access_from(const HttpRoute *route, bool near);
/* The table, for a thing that is (or is not) the caller's own, or granted to them. */
bool auth_may(const HttpCaller *caller, AccessKind kind, AccessVerb verb, bool owner, bool granted);
/* May the caller's token work with jobs of this queue? ERR_DENIED. */
bool auth_check_queue(const HttpCaller *caller, const char *queue, GError **error);
/* May this user submit to the queue, as far as grants go? */
bool auth_is_granted(const Auth *auth, const Catalog *catalog, const char *user, const Queue *queue);
bool auth_queues_are_open(const Auth *auth); /* grants are not asked for at all */
/* "unix", or an address of the loopback. */
bool address_is_local(const char *address);
/* What a client calls the server by (the Host header, or NULL) means this machine. A page that made a browser
 * call the loopback by a name of its own does not. */
bool host_is_local(const char *host);

/* ---- log-in ---- */

typedef struct {
        const char *user, *token;
        gint64 expires;    /* ms; 0: never */
        bool lacks_factor; /* the token sets up a second factor, and does nothing else before that */
        bool by_directory; /* LDAP knew the password */
} AuthLogin;

/* Borrowed. */
typedef struct {
        const char *user, *password;
        const char *code;      /* of the second factor, or a recovery code; NULL: none was given */
        bool code_is_appended; /* instead: where the account has a second factor, the password ends in the
                                  code */
} LoginAsk;

/* Called once: with `login`, or with an error: ERR_UNAUTHENTICATED (unknown user, wrong password or wrong
 * code, not told apart), ERR_SECOND_FACTOR (the password is right, and a code is needed), ERR_QUOTA with the
 * time to wait, ERR_UNAVAILABLE. Any thread; must not block. */
typedef void (*AuthLoginDone)(const AuthLogin *login, const GError *error, gint64 wait_ms, void *arg);
/* Where an attempt comes from. Borrowed. */
typedef struct {
        const char *address; /* these three as in HttpCaller */
        int port;
        pid_t pid;
        const char *host; /* what the server was called (Host), or NULL */
        bool forwarded;   /* by a proxy: the address is not of who asks */
} LoginOrigin;
LoginOrigin login_origin(const HttpRequest *request);
/* Whether older clients are at home there, which have the published password built in (AuthConfig.published):
 * they are also told what a stranger is not, that there is no user of a name. */
bool auth_is_older_clients(const Auth *auth, const LoginOrigin *origin);
/* The published password opens its account only as AuthConfig.published says, never for what is forwarded or
 * comes from a member of a job; on the loopback only by a name that means it. */
void auth_login(Auth *auth, const LoginAsk *ask, const LoginOrigin *origin, AuthLoginDone done, void *arg);

/* Puts a user, new or changed, with `password` (NULL: as it stands in the draft) hashed first. */
void auth_put_user(Auth *auth, const User *draft, const char *password, const char *by, EngineDone done,
                   void *arg);

typedef struct {
        const char *user, *password;
        const char *old;     /* must be the present one; NULL: not asked for */
        const char *address; /* of who asks: guessing `old` is slowed down as log-ins are */
        const char *by;
} PasswordChange;
/* False with ERR_CONFLICT: the user has a second factor already. */
bool auth_lacks_factor(const User *user, GError **error);
/* A directory (LDAP) is configured. */
bool auth_has_directory(const Auth *auth);
/* False with ERR_CONFLICT, which says where it is changed, when the password is a directory's. */
bool auth_password_is_here(const Auth *auth, const User *user, GError **error);
/* The rule for new passwords is the caller's to check. Log-ins of the user end. ERR_NOT_FOUND, ERR_DENIED
 * when `old` is wrong, ERR_QUOTA. */
void auth_change_password(Auth *auth, const PasswordChange *change, EngineDone done, void *arg);

/* ---- second factors (second-factor.h) ---- */

typedef struct {
        const char *user;
        const char *password; /* the present one; NULL: not asked for, the machine vouches (Unix socket) or an
                                 administrator asks for somebody else */
        const char *code;
        const char *secret;  /* of auth_add_second_factor: base 32 */
        const char *address; /* of who asks: guessing is slowed down as log-ins are */
        const char *by;
} FactorChange;
typedef struct {
        AuthLogin login;             /* a new one: setting up a factor ends all earlier */
        const char *const *recovery; /* codes, NULL-terminated */
} AuthFactor;
/* Called once. ERR_DENIED for a wrong password or code, ERR_INVALID for a code that is not the secret's,
 * ERR_CONFLICT when there is one already, ERR_QUOTA with the time to wait. As AuthLoginDone. */
typedef void (*AuthFactorDone)(const AuthFactor *factor, const GError *error, gint64 wait_ms, void *arg);
/* A secret that nobody else has; it counts once auth_add_second_factor has it back. Both are the caller's. */
void auth_new_factor_secret(const char *user, char **ret_secret, char **ret_uri);
void auth_add_second_factor(Auth *auth, const FactorChange *change, AuthFactorDone done, void *arg);
/* `code` NULL, with no password: not asked for. */
void auth_drop_second_factor(Auth *auth, const FactorChange *change, AuthFactorDone done, void *arg);

/* A new token's secret and what is kept of it; the secret is 256 random bits in base 32. */
enum { SECRET_LEN = 52 };
Token *auth_new_token(const char *user, const char *note, gint64 expires, char ret_secret[SECRET_LEN + 1]);
