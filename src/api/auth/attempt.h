/* Inside auth/: one way of a password through the throttle, the crew and the engine (login.c), as log-ins and
 * what else asks for a password take it. */
#pragma once

#include "api/auth/internal.h"
#include "base/err.h"

typedef struct Attempting Attempting;
struct Attempting {
        Auth *auth;
        char *user, *password, *old, *address, *by;
        Object *draft;  /* of auth_put_user, and what a second factor changes */
        char *verified; /* what User.password was when it was compared */
        Turn turn;
        CrewFunc work; /* when it has come */
        char secret[SECRET_LEN + 1], token_id[ID_LEN + 1];
        gint64 expires;
        bool known;     /* who asks is known by a token or the socket already */
        bool published; /* the published password may be used, unless it is a member who asks */
        int port;       /* of `address` */
        pid_t pid;
        AuthLoginDone login_done;
        EngineDone done;
        void *arg;

        /* a directory (directory-login.c) */
        bool there;        /* it is to be asked, on its own crew */
        bool by_directory; /* it said yes */
        GError *trouble;   /* it could not be asked */

        /* the second factor (factor-login.c) */
        char *code;            /* as it was given, or NULL */
        bool code_is_appended; /* to the password, by older clients */
        int tries;             /* of storing that a code was used */
        char *new_secret;      /* of auth_add_second_factor */
        char **recovery;
        AuthFactorDone factor_done;
};

/* Gets a turn, then `work` runs on the crew: it has to call end_attempt. */
void attempt(Attempting *at, CrewFunc work);
void end_attempt(Attempting *at, Attempt how);
/* Compares `given` with what the user has now; sets `verified`. On the crew. */
bool compare(Attempting *at, const char *given);
/* The end of every way: calls `login_done`, `factor_done` or `done` and frees. */
void finish(Attempting *at, const GError *error, gint64 wait_ms);
/* A log-in's token for the user, then finish. On the crew, or as an EngineDone. */
void give_token(Attempting *at);
bool set_stopped(GError **error);

/* The comparison failed: counts that. `message` for who had it wrong, unless the directory could not be
 * asked. */
void refuse_attempt(Attempting *at, ErrCode code, const char *message, GError **error);

/* ---- directory-login.c ---- */

/* Is the password of this account for the directory to judge? Also of one that is not there yet, if the first
 * log-in may make it. */
bool asks_directory(const Auth *auth, const char *user);
/* compare() of these. On the directory's crew. */
bool compare_there(Attempting *at, const char *given);
typedef void (*AttemptNext)(Attempting *at);
/* `next` once there is the user; else finish. */
void make_user(Attempting *at, AttemptNext next);

/* ---- factor-login.c ---- */

/* Divides what an older client sends into password and code, where the account has a second factor. */
void split_code(Attempting *at);
/* The password was right, on the crew: `next` once a code is not needed, or is right and stored as used; else
 * finish with ERR_SECOND_FACTOR, ERR_UNAUTHENTICATED or ERR_QUOTA. Ends the attempt. */
void check_factor(Attempting *at, AttemptNext next);
