/* Pictures that verbs print: to a file, or to standard output. */
#pragma once

#include "cli/cli.h"

/* The option of a verb that can draw; its second word is then the file. */
/* clang-format off */
#define SVG_OPTION(offset)                                                                                   \
        { "svg", 0, OPTION_BOOL, offset, NULL,                                                               \
          "draw it as an SVG picture, into the FILE behind it or to standard output" }
/* clang-format on */

/* False with ERR_USAGE: there is a file, but no picture. */
bool svg_check(bool svg, const char *file, GError **error);
/* `file` NULL: standard output. */
bool svg_put(const Cli *cli, const char *svg, gsize len, const char *file, GError **error);
