/* Pictures that verbs print: to a file, or to standard output. */
#pragma once

#include "cli/cli.h"

/* The option of a verb that can draw: the field is a char *. The file is its value, or the word after it. */
/* clang-format off */
#define SVG_OPTION(offset)                                                                                   \
        { "svg", 0, OPTION_OPTIONAL, offset, "FILE",                                                         \
          "draw it as an SVG picture, into a FILE.svg or to standard output" }
/* clang-format on */

/* *ret_file is the file of the option `svg`, which may be NULL, or of the `word` behind it, which may be NULL, too. NULL:
 * standard output. False with ERR_USAGE: a file without the option, one that is not named as a picture, or one that is
 * there and was not drawn by paddle, so that no other file is replaced. */
bool svg_file(const char *svg, const char *word, const char **ret_file, GError **error);
/* `file` NULL: standard output. */
bool svg_put(const Cli *cli, const char *svg, gsize len, const char *file, GError **error);
