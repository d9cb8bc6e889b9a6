/* A log whose lines hold each other: each is a JSON object that begins with its number and the hash of the
 * line before (BLAKE2b-256 of its bytes, without the newline), so that none can be changed, taken out, put in
 * or moved without a later one telling.
 *
 *     DIR/000000000001.jsonl      {"seq":1,"prev":"000...","time":...}      numbered by their first lines
 *     DIR/000000004211.jsonl      {"seq":4211,"prev":"9f3c...",...}
 *     DIR/head                    4305:77ab...                               the last line, written after it
 *
 * Here is what reads: whoever may read the directory can check it. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/json.h"

enum { CHAIN_HASH_LEN = 64, CHAIN_LINE_MAX = 16384, CHAIN_HEAD_MAX = 128 };
#define CHAIN_SUFFIX ".jsonl"
#define CHAIN_HEAD "head"

/* The last line: what to keep elsewhere, so that the log can be compared with it later. */
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
/* What a line is: its object, and as a head. False: it is none. `text` without its newline. */
bool chain_read_line(const char *text, gsize len, json_t **ret_object, char ret_prev[CHAIN_HASH_LEN + 1],
                     ChainHead *ret);

/* The files of the directory, oldest first (char *, names only); the caller's. */
GPtrArray *chain_files(const char *dir, GError **error);
char *chain_file_name(gint64 seq); /* the caller's */
/* What DIR/head says. CHAIN_START when there is none. ERR_INVALID. */
bool chain_read_head(const char *dir, ChainHead *ret, GError **error);

enum { CHAIN_PROBLEMS_SHOWN = 20 };
typedef struct {
        gint64 lines, first; /* of the lines: how many, and the number of the first; 0: there are none */
        gint64 files;
        ChainHead last;
        gint64 n_problems;
        GPtrArray *problems; /* char *: the first of them as sentences */
} ChainReport;
void chain_report_clear(ChainReport *report);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ChainReport, chain_report_clear)

/* Checks each line against the one before, the end against DIR/head and, unless it is NULL, against a head
 * that was kept elsewhere. What an own "dropped_through" says was removed for age may be missing at the
 * beginning. True when it could be read: what is wrong is in the report. Lines that are being written
 * meanwhile are no problem. */
bool chain_check(const char *dir, const ChainHead *kept, ChainReport *ret, GError **error);
