/* Passwords and other secret texts on the command line: asked for on the terminal without showing them, or
 * read from standard input. They are never an option's value, which other users of the machine could read. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "cli/cli.h"

enum { PASSWORD_LINE_MAX = 1024 };

/* Overwrites the bytes before it frees them. NULL is a no-op. */
void password_free(char *password);
typedef char Password;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Password, password_free)

/* As whom the server knows the caller, and whether the machine vouches for them: on the Unix socket, for who
 * shows no token. Who is not vouched for says their password when they change what opens their account. */
bool who_am_i(Cli *cli, char **ret_user, bool *ret_vouched, GError **error);

/* One line from standard input with `from_stdin`, else asked for on the terminal, twice with `twice`. `what`
 * is the prompt, and in errors follows "the": "new password". ERR_USAGE when there is no terminal, when the
 * two inputs differ, or for an empty one. */
char *password_ask(const Cli *cli, const char *what, bool from_stdin, bool twice, GError **error);

/* A code of a second factor, in the same way; ERR_USAGE says how else it can be given. */
char *code_ask(const Cli *cli, const char *what, bool from_stdin, GError **error);

/* The code of --otp, else of PADDLE_OTP; NULL: neither. Borrowed. */
const char *code_given(const char *option);
