/* Which files of a directory belong to a package: .gitignore and .paddleignore rules (gitignore(5)): last
 * match wins, `!` negates, trailing `/` means directories, `**`, anchored by a slash. .git and __pycache__
 * are always left out; caches of tools and virtual environments unless a rule takes them back (`!.tox/`). */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct IgnoreRules IgnoreRules;
IgnoreRules *ignore_new(void); /* with the rules for caches of tools */
void ignore_free(IgnoreRules *rules);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IgnoreRules, ignore_free)
/* Adds the rules of one file's text, which stands in directory `base` ("" for the root, else "a/b"). */
void ignore_add(IgnoreRules *rules, const char *base, const char *text);
/* True when `path`, or a directory above it, is left out: what lies in such a directory cannot be taken back
 * by `!`. */
bool ignore_matches(const IgnoreRules *rules, const char *path, bool is_dir);

/* A directory that holds a file of this name is a virtual environment of Python: it is left out unless
 * ignore_takes_back says that a rule takes it back. */
#define IGNORE_VENV_MARK "pyvenv.cfg"
bool ignore_takes_back(const IgnoreRules *rules, const char *path);

/* For a walk that goes down only where nothing is left out: the same without looking at the directories above
 * ... */
bool ignore_matches_here(const IgnoreRules *rules, const char *path, bool is_dir);
/* ... and, on the way up again, dropping the rules that were added below: all but the first `count`. */
guint ignore_count(const IgnoreRules *rules);
void ignore_truncate(IgnoreRules *rules, guint count);
