/* Which files of a directory belong to a package: .gitignore and .paddleignore rules (gitignore(5)): last
 * match wins, `!` negates, trailing `/` means directories, `**`, anchored by a slash. .git and __pycache__
 * are always left out; caches of tools and virtual environments unless a rule takes them back (`!.tox/`). */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct IgnoreRules IgnoreRules;
IgnoreRules *ignore_new(void); /* it has the rules for caches of tools */
void ignore_free(IgnoreRules *rules);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IgnoreRules, ignore_free)
/* Adds the rules of one file's text, which stands in directory `base` ("" for the root, else "a/b"). */
void ignore_add(IgnoreRules *rules, const char *base, const char *text);
/* True when `path`, or a directory above it, is left out: what lies in such a directory cannot be taken back
 * by `!`. */
bool ignore_matches(const IgnoreRules *rules, const char *path, bool is_dir);

/* For a walk that goes down only where nothing is left out: the same without looking at the directories
 * above. Also true for a virtual environment of Python, a directory (not a link to one) with pyvenv.cfg,
 * unless a rule takes it back. `name` is the entry as seen from the open directory `dir` ... */
bool ignore_leaves_out(const IgnoreRules *rules, int dir, const char *name, const char *path, bool is_dir);
/* ... and, on the way up again, dropping the rules that were added below: all but the first `count`. */
guint ignore_count(const IgnoreRules *rules);
void ignore_truncate(IgnoreRules *rules, guint count);

/* True if the last rule that matches this path is one with `!`. */
bool ignore_takes_back(const IgnoreRules *rules, const char *path, bool is_dir);

/* A file that came from elsewhere and is left out as long as it is as it came: `path` from the root, size in
 * bytes, time of its last change in nanoseconds. A rule with `!` for it, or for a directory above it, takes
 * it back. */
void ignore_add_foreign(IgnoreRules *rules, const char *path, guint64 size, gint64 mtime_ns);
/* True for such a file; `dir` and `name` as above. */
bool ignore_is_foreign(const IgnoreRules *rules, int dir, const char *name, const char *path);
