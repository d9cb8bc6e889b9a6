/* Inside auth/: one way of a password through the throttle, the crew and the engine (login.c), as log-ins and
 * what else asks for a password take it. */
#pragma once

#include "api/auth/internal.h"

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

/* ---- factor-login.c ---- */

/* Divides what an older client sends into password and code, where the account has a second factor. */
void split_code(Attempting *at);
/* The password was right, on the crew: `next` once a code is not needed, or is right and stored as used; else
 * finish with ERR_SECOND_FACTOR, ERR_UNAUTHENTICATED or ERR_QUOTA. Ends the attempt. */
typedef void (*FactorNext)(Attempting *at);
void check_factor(Attempting *at, FactorNext next);
