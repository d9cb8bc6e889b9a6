/* Log-in by single sign-on from a terminal: the server gives a code, the user enters it at the issuer in any
 * browser, and this waits. */
#pragma once

#include "cli/cli.h"

/* The result of the log-in: {"user", "token", "expires_at"}. Waits until the user has answered. NULL with
 * ERR_DENIED, ERR_GONE (the code has expired), ERR_NOT_FOUND (the server has no single sign-on). */
json_t *sso_log_in(Cli *cli, GError **error);

/* Tells the user about single sign-on, if the server has it. */
void sso_hint(Cli *cli);
