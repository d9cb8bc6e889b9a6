/* Which files of a directory belong to a package: .gitignore and .paddleignore rules (gitignore(5)): last match wins, `!`
 * negates, trailing `/` means directories, `**`, anchored by a slash. .git and __pycache__ are always left out. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct IgnoreRules IgnoreRules;
IgnoreRules *ignore_new(void);
void ignore_free(IgnoreRules *rules);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IgnoreRules, ignore_free)
/* Adds the rules of one file's text, which stands in directory `base` ("" for the root, else "a/b"). */
void ignore_add(IgnoreRules *rules, const char *base, const char *text);
bool ignore_matches(const IgnoreRules *rules, const char *path, bool is_dir);
