/* Log-in by single sign-on from a terminal: the server gives a code, the person enters it at the issuer with
 * any browser, this waits. */
#pragma once

#include "cli/cli.h"

/* What the server gives for it: {"user", "token", "expires_at"}. Waits until the person has answered. NULL
 * with ERR_DENIED, ERR_GONE (the code has expired), ERR_NOT_FOUND (the server has no single sign-on). */
json_t *sso_log_in(Cli *cli, GError **error);

/* Tells a person of it, where the server has it. */
void sso_hint(Cli *cli);
