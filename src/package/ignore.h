/* Selects the files of a directory that belong to a package, by .gitignore and .paddleignore rules
 * (gitignore(5)): last match wins, `!` negates, trailing `/` means directories, `**`, anchored by a slash.
 * .git and __pycache__ are always excluded, and so are secret files. Caches of tools and virtual environments are excluded unless a
 * rule includes them again (`!.tox/`). */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct IgnoreRules IgnoreRules;
IgnoreRules *ignore_new(void); /* contains the rules for caches of tools */
void ignore_free(IgnoreRules *rules);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IgnoreRules, ignore_free)
/* Adds the rules of one file's text. The file is in directory `base` ("" for the root, else "a/b"). */
void ignore_add(IgnoreRules *rules, const char *base, const char *text);
/* True if `path`, or a directory above it, is excluded. `!` cannot include a file again if its directory is
 * excluded. */
bool ignore_matches(const IgnoreRules *rules, const char *path, bool is_dir);

/* For a walk that does not enter excluded directories: the same without checking the directories above. Also
 * true for a virtual environment of Python, a directory (not a link to one) with pyvenv.cfg, unless a rule
 * includes it again. `name` is the entry relative to the open directory `dir`. */
bool ignore_leaves_out(const IgnoreRules *rules, int dir, const char *name, const char *path, bool is_dir);
/* When the walk leaves a directory, drop the rules that were added in it: all but the first `count`. */
guint ignore_count(const IgnoreRules *rules);
void ignore_truncate(IgnoreRules *rules, guint count);

/* Excludes a file or directory, whatever the rules say: `path` from the root. The state directory of a server, which has
 * a file paddle.db, is secret, too. */
void ignore_add_secret(IgnoreRules *rules, const char *path);
/* `dir` and `name` as in ignore_leaves_out. */
bool ignore_is_secret(const IgnoreRules *rules, int dir, const char *name, const char *path, bool is_dir);

/* True if the last rule that matches this path has a `!`. */
bool ignore_takes_back(const IgnoreRules *rules, const char *path, bool is_dir);

/* Excludes a file that was downloaded, as long as it is unchanged: `path` from the root, size in bytes, time
 * of its last change in nanoseconds. A rule with `!` for it, or for a directory above it, includes it
 * again. */
void ignore_add_foreign(IgnoreRules *rules, const char *path, guint64 size, gint64 mtime_ns);
/* True for such a file; `dir` and `name` as in ignore_leaves_out. */
bool ignore_is_foreign(const IgnoreRules *rules, int dir, const char *name, const char *path);
