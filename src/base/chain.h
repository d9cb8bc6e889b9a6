/* A log that is chained by hashes. Each line is a JSON object that begins with its number and the hash of the
 * line before (BLAKE2b-256 of its bytes, without the newline). A line that is changed, removed, inserted or
 * moved no longer matches the lines after it.
 *
 *     DIR/000000000001.jsonl      {"seq":1,"prev":"000...","time":...}      numbered by their first lines
 *     DIR/000000004211.jsonl      {"seq":4211,"prev":"9f3c...",...}
 *     DIR/head                    4305:77ab...                               the last line, written after it
 *
 * This header reads and checks. Checking needs only read access to the directory. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/json.h"

enum { CHAIN_HASH_LEN = 64, CHAIN_LINE_MAX = 16384, CHAIN_HEAD_MAX = 128 };
#define CHAIN_SUFFIX ".jsonl"
#define CHAIN_HEAD "head"

/* The last line. Keep a copy elsewhere to compare the log with it later. */
typedef struct {
        gint64 seq; /* 0: there is none yet */
        char hash[CHAIN_HASH_LEN + 1];
} ChainHead;

#define CHAIN_START ((ChainHead){ 0, "0000000000000000000000000000000000000000000000000000000000000000" })

char *chain_head_format(const ChainHead *head); /* "SEQ:HASH"; the caller's */
bool chain_head_parse(const char *text, ChainHead *ret, GError **error);

/* Appends the next line with its newline: `fields` is the rest of the object, as text without braces
 * ("\"time\":..."). Moves the head. */
void chain_append(ChainHead *head, const char *fields, GString *out);
/* Parses a line (`text` without its newline) into its object and its head. False: it is not a valid line. */
bool chain_read_line(const char *text, gsize len, json_t **ret_object, char ret_prev[CHAIN_HASH_LEN + 1],
                     ChainHead *ret);

/* The files of the directory, oldest first (char *, names only); the caller's. */
GPtrArray *chain_files(const char *dir, GError **error);
char *chain_file_name(gint64 seq); /* the caller's */
/* Reads DIR/head. CHAIN_START when the file is missing. ERR_INVALID when it is broken. */
bool chain_read_head(const char *dir, ChainHead *ret, GError **error);

enum { CHAIN_PROBLEMS_SHOWN = 20 };
typedef struct {
        gint64 lines, first; /* number of lines; number of the first line, 0: no lines */
        gint64 files;
        ChainHead last;
        gint64 n_problems;
        GPtrArray *problems; /* char *: sentences, at most CHAIN_PROBLEMS_SHOWN */
} ChainReport;
void chain_report_clear(ChainReport *report);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ChainReport, chain_report_clear)

/* Checks each line against the line before, and the last line against DIR/head. Also checks against `kept`, a
 * head that was kept elsewhere, unless it is NULL. Lines up to "dropped_through" were removed for age and may
 * be missing. Returns true if the log could be read; problems are in the report. Lines may be written
 * meanwhile. */
bool chain_check(const char *dir, const ChainHead *kept, ChainReport *ret, GError **error);
