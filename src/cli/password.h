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

/* The user that the server sees, and whether the machine vouches for it: on the Unix socket, without a token.
 * Otherwise the user must give the password to change log-in settings. */
bool who_am_i(Cli *cli, char **ret_user, bool *ret_vouched, GError **error);

/* One line from standard input with `from_stdin`, otherwise typed at the terminal, twice with `twice`. `what`
 * is the prompt; errors write it after "the": "new password". ERR_USAGE if there is no terminal, if the two
 * inputs differ, or if it is empty. */
char *password_ask(const Cli *cli, const char *what, bool from_stdin, bool twice, GError **error);

/* A code of a second factor, in the same way; ERR_USAGE names the other ways to give it. */
char *code_ask(const Cli *cli, const char *what, bool from_stdin, GError **error);

/* The code of --otp, otherwise of PADDLE_OTP; NULL: neither. Borrowed. */
const char *code_given(const char *option);
