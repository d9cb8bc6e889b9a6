/* The reading side of a chained log (see chain.h). The head file is read first: a running server may be
 * writing a line after the one that it names. */
#include "base/chain.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/file.h"
#include "base/number.h"

static void hash_text(const char *text, gsize len, char ret[CHAIN_HASH_LEN + 1])
{
        guint8 bytes[CHAIN_HASH_LEN / 2];

        crypto_generichash(bytes, sizeof bytes, (const guint8 *)text, len, NULL, 0);
        sodium_bin2hex(ret, CHAIN_HASH_LEN + 1, bytes, sizeof bytes);
}

static bool is_hash(const char *text)
{
        return strlen(text) == CHAIN_HASH_LEN && strspn(text, "0123456789abcdef") == CHAIN_HASH_LEN;
}

char *chain_head_format(const ChainHead *head)
{
        return g_strdup_printf("%" G_GINT64_FORMAT ":%s", head->seq, head->hash);
}

bool chain_head_parse(const char *text, ChainHead *ret, GError **error)
{
        const char *colon = strchr(text, ':');
        g_autofree char *number = colon ? g_strndup(text, (gsize)(colon - text)) : NULL;
        gint64 seq;

        if (!number || !number_parse("number", number, 0, G_MAXINT64, &seq, NULL) || !is_hash(colon + 1))
                return err_set(error, ERR_INVALID, "'%.100s' is not NUMBER:HASH, the head of an audit log",
                               text);
        ret->seq = seq;
        g_strlcpy(ret->hash, colon + 1, sizeof ret->hash);
        return true;
}

void chain_append(ChainHead *head, const char *fields, GString *out)
{
        gsize at = out->len;

        g_string_append_printf(out, "{\"seq\":%" G_GINT64_FORMAT ",\"prev\":\"%s\",", head->seq + 1,
                               head->hash);
        g_string_append(out, fields);
        g_string_append_c(out, '}');
        hash_text(out->str + at, out->len - at, head->hash);
        head->seq++;
        g_string_append_c(out, '\n');
}

bool chain_read_line(const char *text, gsize len, json_t **ret_object, char ret_prev[CHAIN_HASH_LEN + 1],
                     ChainHead *ret)
{
        g_autoptr(json_t) object = len <= CHAIN_LINE_MAX ? json_parse(text, len, NULL) : NULL;
        const char *prev = json_string_value(json_object_get(object, "prev"));
        gint64 seq = json_integer_value(json_object_get(object, "seq"));

        if (!prev || !is_hash(prev) || seq < 1)
                return false;
        if (ret_prev)
                g_strlcpy(ret_prev, prev, CHAIN_HASH_LEN + 1);
        ret->seq = seq;
        hash_text(text, len, ret->hash);
        if (ret_object)
                *ret_object = g_steal_pointer(&object);
        return true;
}

/* ---- the directory ---- */

char *chain_file_name(gint64 seq)
{
        return g_strdup_printf("%012" G_GINT64_FORMAT CHAIN_SUFFIX, seq);
}

static int by_name(const void *a, const void *b)
{
        const char *one = *(char *const *)a, *two = *(char *const *)b;
        gsize len = strlen(one), other = strlen(two);

        return len != other ? (len < other ? -1 : 1) : strcmp(one, two);
}

GPtrArray *chain_files(const char *dir, GError **error)
{
        g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(g_free);
        GDir *open = g_dir_open(dir, 0, NULL);
        const char *name;

        if (!open) {
                err_set_errno(error, errno, "cannot read '%s'", dir);
                return NULL;
        }
        while ((name = g_dir_read_name(open)))
                if (g_str_has_suffix(name, CHAIN_SUFFIX) &&
                    strspn(name, "0123456789") == strlen(name) - strlen(CHAIN_SUFFIX))
                        g_ptr_array_add(files, g_strdup(name));
        g_dir_close(open);
        g_ptr_array_sort(files, by_name);
        return g_steal_pointer(&files);
}

bool chain_read_head(const char *dir, ChainHead *ret, GError **error)
{
        g_autofree char *path = g_build_filename(dir, CHAIN_HEAD, NULL);
        g_autofree char *text = NULL;

        *ret = CHAIN_START;
        if (!g_file_test(path, G_FILE_TEST_EXISTS))
                return true;
        if (!file_read(path, CHAIN_HEAD_MAX, &text, NULL, error))
                return false;
        return chain_head_parse(g_strstrip(text), ret, error) || err_prefix(error, "'%s': ", path);
}

/* ---- the check ---- */

typedef struct {
        ChainReport *report;
        const ChainHead *kept;
        ChainHead head; /* of the file */
        gint64 dropped; /* the log says that lines up to this one were deleted for age */
        const char *file;
        gint64 line; /* of the file */
} Check;

void chain_report_clear(ChainReport *report)
{
        if (report->problems)
                g_ptr_array_unref(report->problems);
        report->problems = NULL;
}

static void G_GNUC_PRINTF(2, 3) problem(Check *check, const char *format, ...)
{
        va_list args;

        if (check->report->n_problems++ >= CHAIN_PROBLEMS_SHOWN)
                return;
        va_start(args, format);
        g_ptr_array_add(check->report->problems, g_strdup_vprintf(format, args));
        va_end(args);
}

static void compare_head(Check *check, const ChainHead *head, const char *whose)
{
        if (head && head->seq == check->report->last.seq && strcmp(head->hash, check->report->last.hash) != 0)
                problem(check, "line %" G_GINT64_FORMAT " is not the one that %s names: it was changed",
                        head->seq, whose);
}

static void take_line(Check *check, const json_t *object, const char *prev, const ChainHead *line)
{
        ChainReport *report = check->report;
        const ChainHead *last = &report->last;

        if (report->lines == 0 && line->seq > 1)
                report->first = line->seq;
        else if (report->lines == 0 && strcmp(prev, CHAIN_START.hash) != 0)
                problem(check, "line 1 follows from another: the log began before it");
        else if (line->seq > last->seq + 1)
                problem(check,
                        "lines %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT
                        " are missing (%s, line %" G_GINT64_FORMAT ")",
                        last->seq + 1, line->seq - 1, check->file, check->line);
        else if (line->seq <= last->seq)
                problem(check,
                        "line %" G_GINT64_FORMAT " comes after line %" G_GINT64_FORMAT
                        " (%s, line %" G_GINT64_FORMAT "): one was put in or moved",
                        line->seq, last->seq, check->file, check->line);
        else if (strcmp(prev, last->hash) != 0)
                problem(check,
                        "line %" G_GINT64_FORMAT " does not follow from line %" G_GINT64_FORMAT
                        " (%s, line %" G_GINT64_FORMAT "): one of them was changed",
                        line->seq, last->seq, check->file, check->line);
        if (report->lines == 0)
                report->first = line->seq;
        report->lines++;
        report->last = *line;
        check->dropped = MAX(check->dropped, json_integer_value(json_object_get(object, "dropped_through")));
        compare_head(check, &check->head, "the head");
        compare_head(check, check->kept, "the head that was kept");
}

static void check_text(Check *check, const char *text, gsize len)
{
        g_autoptr(json_t) object = NULL;
        char prev[CHAIN_HASH_LEN + 1];
        ChainHead line;

        check->line++;
        if (chain_read_line(text, len, &object, prev, &line))
                take_line(check, object, prev, &line);
        else
                problem(check, "%s, line %" G_GINT64_FORMAT " is no line of the log", check->file,
                        check->line);
}

/* `is_last`: an incomplete line after the head may still be being written. */
static bool check_file(Check *check, const char *dir, const char *name, bool is_last, GError **error)
{
        g_autofree char *path = g_build_filename(dir, name, NULL);
        FILE *file = fopen(path, "re");
        char *text = NULL;
        size_t size = 0;
        ssize_t len;

        if (!file)
                return errno == ENOENT || err_set_errno(error, errno, "cannot read '%s'", path);
        check->file = name;
        check->line = 0;
        while ((len = getline(&text, &size, file)) > 0) {
                if (text[len - 1] == '\n')
                        check_text(check, text, (gsize)len - 1);
                else if (!is_last || check->report->last.seq < check->head.seq)
                        problem(check, "%s ends in the middle of a line", name);
        }
        free(text);
        fclose(file);
        return true;
}

static void check_ends(Check *check)
{
        const ChainReport *report = check->report;

        if (report->first > 1 && check->dropped < report->first - 1)
                problem(check,
                        "lines %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT " are missing at the beginning",
                        check->dropped + 1, report->first - 1);
        if (check->head.seq > report->last.seq)
                problem(check, "lines %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT " are missing at the end",
                        report->last.seq + 1, check->head.seq);
        else if (report->lines && check->head.seq == 0)
                problem(check, "the file '" CHAIN_HEAD "' is missing, so the end cannot be told");
        if (!check->kept)
                return;
        if (check->kept->seq > report->last.seq)
                problem(check, "line %" G_GINT64_FORMAT ", the head that was kept, is missing at the end",
                        check->kept->seq);
        else if (check->kept->seq < report->first)
                problem(check, "line %" G_GINT64_FORMAT ", the head that was kept, is not there any more",
                        check->kept->seq);
}

bool chain_check(const char *dir, const ChainHead *kept, ChainReport *ret, GError **error)
{
        Check check = { .report = ret, .kept = kept };
        g_autoptr(GError) wrong = NULL;
        g_autoptr(GPtrArray) files = NULL;

        *ret = (ChainReport){ .last = CHAIN_START, .problems = g_ptr_array_new_with_free_func(g_free) };
        if (!chain_read_head(dir, &check.head, &wrong))
                problem(&check, "%s", wrong->message);
        files = chain_files(dir, error);
        if (!files)
                return false;
        ret->files = files->len;
        for (guint i = 0; i < files->len; i++)
                if (!check_file(&check, dir, files->pdata[i], i + 1 == files->len, error))
                        return false;
        check_ends(&check);
        return true;
}
