/* See audit.h. One thread writes: it takes all lines that wait, hashes and writes them at once, and tells
 * those who wait for them. `head` (the file) is written after the lines it names, so it never promises what
 * is not there: a head beyond the last line means that lines were taken away. */
#include "store/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cond.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"

enum { TICK_MS = 1000, FILES_MIN = 2 };
#define FILE_READ_MAX (1ull << 30)

typedef struct {
        char *fields;
        gint64 time;
        bool durable;
        AuditDone done;
        void *arg;
} Line;

struct Audit {
        AuditConfig config;
        char *dir;
        GThread *thread;

        pthread_mutex_t tick_mutex; /* held while `tick` runs; guards it */
        void (*tick)(bool last, void *arg);
        void *tick_arg;

        pthread_mutex_t mutex; /* guards what follows */
        pthread_cond_t changed, written;
        GPtrArray *waiting;              /* Line * */
        gint64 n_handed_over, n_written; /* lines since the opening */
        gint64 lost;                     /* lines that found no place to wait */
        char *trouble;                   /* or NULL */
        ChainHead head;
        bool stop;

        /* The writer's own. */
        int fd, head_fd; /* -1: to be opened with the next line */
        gint64 size, began_ms, synced_ms;
        bool unsynced;
};

static void line_free(void *arg)
{
        Line *line = arg;

        g_free(line->fields);
        g_free(line);
}

/* ---- opening ---- */

static bool write_head(Audit *audit, const ChainHead *head, GError **error)
{
        g_autofree char *path = g_build_filename(audit->dir, CHAIN_HEAD, NULL);
        g_autofree char *text = chain_head_format(head);
        g_autofree char *padded = g_strdup_printf("%-*s\n", CHAIN_HEAD_MAX - 2, text);

        if (audit->head_fd < 0)
                audit->head_fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (audit->head_fd < 0 ||
            pwrite(audit->head_fd, padded, strlen(padded), 0) != (ssize_t)strlen(padded))
                return err_set_errno(error, errno, "cannot write '%s'", path);
        return true;
}

static void put_own(Audit *audit, const char *action, const char *detail, const char *more)
{
        g_autoptr(GString) fields = g_string_new("\"action\":");

        json_quote(fields, action);
        g_string_append(fields, ",\"outcome\":\"ok\",\"detail\":");
        json_quote(fields, detail);
        if (more)
                g_string_append_printf(fields, ",%s", more);
        audit_put(audit, fields->str, true, NULL, NULL);
}

/* The last whole line of a text; false: it has none that is one. */
static bool last_line(const char *text, gsize len, ChainHead *ret, gsize *ret_whole)
{
        gsize end = len, start;

        while (end > 0 && text[end - 1] != '\n')
                end--;
        *ret_whole = end;
        if (end == 0)
                return false;
        for (start = end - 1; start > 0 && text[start - 1] != '\n';)
                start--;
        return chain_read_line(text + start, end - 1 - start, NULL, NULL, ret);
}

/* When the file was made, as far as its file system knows. */
static gint64 born_ms(int fd)
{
        struct statx st;

        return statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &st) == 0 && st.stx_mask & STATX_BTIME
                       ? (gint64)st.stx_btime.tv_sec * 1000
                       : clock_now_ms();
}

/* Goes on behind the newest file that has a line. What stands behind its last newline was acknowledged to
 * nobody. */
static bool open_last(Audit *audit, ChainHead *ret, GError **error)
{
        g_autoptr(GPtrArray) files = chain_files(audit->dir, error);

        if (!files)
                return false;
        for (guint i = files->len; i-- > 0;) {
                g_autofree char *path = g_build_filename(audit->dir, files->pdata[i], NULL);
                g_autofree char *text = NULL;
                struct stat st;
                gsize len, whole;
                bool good;

                if (!file_read(path, FILE_READ_MAX, &text, &len, error))
                        return false;
                good = last_line(text, len, ret, &whole);
                if (whole < len) {
                        g_autofree char *detail = g_strdup_printf("%" G_GSIZE_FORMAT
                                                                  " bytes of an unfinished line were cut off",
                                                                  len - whole);

                        if (truncate(path, (off_t)whole) < 0)
                                return err_set_errno(error, errno, "cannot cut '%s'", path);
                        log_warning("the audit log ended in the middle of a line, as after a crash; it was "
                                    "cut off",
                                    "file", path, NULL);
                        put_own(audit, "audit recover", detail, NULL);
                }
                if (whole == 0) {
                        (void)unlink(path); /* nothing is lost with it */
                        continue;
                }
                if (!good) /* somebody was at it: leave it to those who check, and begin another */
                        return true;
                audit->fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
                if (audit->fd < 0 || fstat(audit->fd, &st) < 0)
                        return err_set_errno(error, errno, "cannot open '%s'", path);
                audit->size = st.st_size;
                audit->began_ms = born_ms(audit->fd);
                return true;
        }
        return true;
}

/* The head that was written may say that there is more than is there. */
static bool settle(Audit *audit, GError **error)
{
        ChainHead said = CHAIN_START, last = CHAIN_START;
        g_autoptr(GError) wrong = NULL;

        if (!open_last(audit, &last, error))
                return false;
        audit->head = last;
        if (!chain_read_head(audit->dir, &said, &wrong))
                log_error("the head of the audit log cannot be read", "error", wrong->message, NULL);
        else if (said.seq < last.seq || (said.seq == last.seq && strcmp(said.hash, last.hash) == 0))
                return true;
        if (said.seq >= last.seq && said.seq > 0)
                audit->head = said; /* the gap, or the change, stays visible */
        log_error(
                "the audit log does not end as it did when the server stopped: lines were removed or changed "
                "(paddle audit verify)",
                "dir", audit->dir, NULL);
        put_own(audit, "audit damaged", "the log does not end with the line that its head names", NULL);
        return true;
}

/* ---- files ---- */

static void sync_file(Audit *audit)
{
        if (audit->fd < 0 || !audit->unsynced)
                return;
        if (fdatasync(audit->fd) < 0)
                log_error("the audit log could not be brought to the disk", "error", g_strerror(errno), NULL);
        audit->unsynced = false;
        audit->synced_ms = clock_monotonic_ms();
}

static void sync_dir(const Audit *audit)
{
        fd_auto int fd = open(audit->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (fd >= 0)
                (void)fsync(fd); /* the lines themselves are synced */
}

/* The oldest go, after the log says so. The lines that say it are part of what is written next. */
static void drop_old(Audit *audit)
{
        g_autoptr(GPtrArray) files = chain_files(audit->dir, NULL);
        int keep = MAX(audit->config.files, FILES_MIN);

        if (!files || audit->config.files == 0 || (int)files->len <= keep)
                return;
        for (guint i = 0; i < files->len - (guint)keep; i++) {
                g_autofree char *path = g_build_filename(audit->dir, files->pdata[i], NULL);

                (void)unlink(path); /* it is tried again with the next file */
        }
}

/* Up to which line the files that go with the next one reach; 0: none goes. */
static gint64 due_to_drop(Audit *audit)
{
        g_autoptr(GPtrArray) files = chain_files(audit->dir, NULL);
        int keep = MAX(audit->config.files, FILES_MIN);

        if (!files || audit->config.files == 0 || (int)files->len <= keep)
                return 0;
        return g_ascii_strtoll(files->pdata[files->len - (guint)keep], NULL, 10) - 1;
}

static bool open_next(Audit *audit, GError **error)
{
        g_autofree char *name = chain_file_name(audit->head.seq + 1);
        g_autofree char *path = g_build_filename(audit->dir, name, NULL);
        g_autofree char *head = chain_head_format(&audit->head);

        sync_file(audit);
        if (audit->fd >= 0)
                close(audit->fd);
        audit->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
        if (audit->fd < 0)
                return err_set_errno(error, errno, "cannot make '%s'", path);
        sync_dir(audit);
        audit->size = 0;
        audit->began_ms = clock_now_ms();
        if (audit->head.seq)
                log_info("the audit log goes on in a new file", "file", name, "head", head, NULL);
        return true;
}

static bool is_full(const Audit *audit)
{
        const AuditConfig *config = &audit->config;

        return audit->fd < 0 || audit->size >= config->file_size ||
               (config->file_age_ms && audit->size &&
                clock_now_ms() - audit->began_ms >= config->file_age_ms);
}

/* ---- writing ---- */

static void append_line(ChainHead *head, gint64 time, const char *fields, GString *out)
{
        g_autofree char *when = clock_format(time);
        g_autofree char *all = g_strconcat("\"time\":\"", when, "\",", fields, NULL);

        chain_append(head, all, out);
}

/* True when all lines are in the file; else none is. */
static bool write_lines(Audit *audit, const GPtrArray *lines, gint64 lost, GError **error)
{
        g_autoptr(GString) text = g_string_new(NULL);
        ChainHead head;
        bool fresh = is_full(audit);
        gint64 dropped = 0;

        if (fresh && !open_next(audit, error))
                return false;
        head = audit->head;
        if (fresh && (dropped = due_to_drop(audit)) > 0) {
                g_autofree char *fields = g_strdup_printf("\"action\":\"audit drop\",\"outcome\":\"ok\","
                                                          "\"dropped_through\":%" G_GINT64_FORMAT,
                                                          dropped);

                append_line(&head, clock_now_ms(), fields, text);
        }
        for (guint i = 0; i < lines->len; i++) {
                const Line *line = lines->pdata[i];

                append_line(&head, line->time, line->fields, text);
        }
        if (lost) {
                g_autofree char *fields = g_strdup_printf(
                        "\"action\":\"audit lost\",\"outcome\":\"failed\",\"count\":%" G_GINT64_FORMAT, lost);

                append_line(&head, clock_now_ms(), fields, text);
        }
        if (!file_write_all(audit->fd, text->str, text->len, error)) {
                if (ftruncate(audit->fd, audit->size) < 0) { /* half a line must not stand before the next */
                        close(audit->fd);
                        audit->fd = -1;
                }
                return err_prefix(error, "the audit log in '%s': ", audit->dir);
        }
        audit->size += (gint64)text->len;
        audit->unsynced = true;
        pthread_mutex_lock(&audit->mutex);
        audit->head = head;
        pthread_mutex_unlock(&audit->mutex);
        if (!write_head(audit, &head, error))
                log_error("the head of the audit log could not be written", "error", (*error)->message, NULL);
        g_clear_error(error);
        if (dropped) {
                sync_file(audit);
                drop_old(audit);
        }
        return true;
}

static void set_trouble(Audit *audit, const GError *error)
{
        pthread_mutex_lock(&audit->mutex);
        if (error && !audit->trouble)
                log_error("the audit log cannot be written; changes are refused until it can", "error",
                          error->message, NULL);
        if (!error && audit->trouble)
                log_info("the audit log can be written again", NULL);
        g_free(audit->trouble);
        audit->trouble = error ? g_strdup(error->message) : NULL;
        pthread_mutex_unlock(&audit->mutex);
}

static void tell(GPtrArray *lines, bool durable)
{
        for (guint i = 0; i < lines->len; i++) {
                Line *line = lines->pdata[i];

                if (!line->done || line->durable != durable)
                        continue;
                line->done(line->arg);
                line->done = NULL;
        }
}

static bool has_durable(const GPtrArray *lines)
{
        for (guint i = 0; i < lines->len; i++)
                if (((const Line *)lines->pdata[i])->durable)
                        return true;
        return false;
}

/* What could not be written waits again, in front of what has come meanwhile. Nobody waits for it. */
static void wait_again(Audit *audit, GPtrArray *lines, gint64 lost)
{
        pthread_mutex_lock(&audit->mutex);
        g_ptr_array_extend_and_steal(lines, g_steal_pointer(&audit->waiting));
        audit->waiting = lines;
        audit->lost += lost;
        pthread_mutex_unlock(&audit->mutex);
}

static void count_written(Audit *audit, guint n)
{
        pthread_mutex_lock(&audit->mutex);
        audit->n_written += n;
        pthread_cond_broadcast(&audit->written);
        pthread_mutex_unlock(&audit->mutex);
}

/* Takes lines. */
static void write_out(Audit *audit, GPtrArray *lines, gint64 lost)
{
        g_autoptr(GError) error = NULL;
        bool written = write_lines(audit, lines, lost, &error);

        set_trouble(audit, written ? NULL : error);
        count_written(audit, written ? lines->len : 0);
        tell(lines, false);
        if (written && (has_durable(lines) || clock_monotonic_ms() - audit->synced_ms >= TICK_MS))
                sync_file(audit);
        tell(lines, true);
        if (written)
                g_ptr_array_unref(lines);
        else
                wait_again(audit, lines, lost);
}

static GPtrArray *new_lines(void)
{
        return g_ptr_array_new_with_free_func(line_free);
}

/* Waits for lines, or for the next tick; with the mutex held. */
static void wait_for_lines(Audit *audit, gint64 until_ms)
{
        while (!audit->stop && (audit->waiting->len == 0 || audit->trouble) &&
               clock_monotonic_ms() < until_ms)
                (void)cond_wait_until(&audit->changed, &audit->mutex, until_ms);
}

static void run_tick(Audit *audit, bool last)
{
        pthread_mutex_lock(&audit->tick_mutex);
        if (audit->tick)
                audit->tick(last, audit->tick_arg);
        pthread_mutex_unlock(&audit->tick_mutex);
        if (audit->unsynced && clock_monotonic_ms() - audit->synced_ms >= TICK_MS)
                sync_file(audit);
}

static gpointer write_on(gpointer data)
{
        Audit *audit = data;
        gint64 ticked_ms = clock_monotonic_ms();
        bool stop = false;

        while (!stop) {
                GPtrArray *lines;
                gint64 lost;

                pthread_mutex_lock(&audit->mutex);
                wait_for_lines(audit, ticked_ms + TICK_MS);
                stop = audit->stop;
                pthread_mutex_unlock(&audit->mutex);
                if (stop || clock_monotonic_ms() >= ticked_ms + TICK_MS) {
                        run_tick(audit, stop);
                        ticked_ms = clock_monotonic_ms();
                }
                pthread_mutex_lock(&audit->mutex);
                lines = audit->waiting;
                lost = audit->lost;
                audit->waiting = new_lines();
                audit->lost = 0;
                pthread_mutex_unlock(&audit->mutex);
                if (lines->len || lost)
                        write_out(audit, lines, lost);
                else
                        g_ptr_array_unref(lines);
        }
        sync_file(audit);
        return NULL;
}

Audit *audit_open(const AuditConfig *config, GError **error)
{
        Audit *audit = g_new0(Audit, 1);

        audit->config = *config;
        audit->dir = g_strdup(config->dir);
        audit->config.dir = audit->dir;
        audit->fd = audit->head_fd = -1;
        audit->waiting = new_lines();
        audit->synced_ms = clock_monotonic_ms();
        pthread_mutex_init(&audit->mutex, NULL);
        pthread_mutex_init(&audit->tick_mutex, NULL);
        cond_init(&audit->changed);
        cond_init(&audit->written);
        if (!file_mkdirs(audit->dir, 0700, error) || !settle(audit, error)) {
                audit_close(audit);
                return NULL;
        }
        if (audit->head.seq) {
                g_autofree char *head = chain_head_format(&audit->head);

                log_info("the audit log goes on", "head", head, NULL);
        }
        audit->thread = g_thread_new("audit", write_on, audit);
        return audit;
}

void audit_close(Audit *audit)
{
        if (!audit)
                return;
        pthread_mutex_lock(&audit->mutex);
        audit->stop = true;
        pthread_cond_signal(&audit->changed);
        pthread_mutex_unlock(&audit->mutex);
        if (audit->thread)
                g_thread_join(audit->thread);
        if (audit->fd >= 0)
                close(audit->fd);
        if (audit->head_fd >= 0)
                close(audit->head_fd);
        g_ptr_array_unref(audit->waiting);
        pthread_mutex_destroy(&audit->mutex);
        pthread_mutex_destroy(&audit->tick_mutex);
        pthread_cond_destroy(&audit->changed);
        pthread_cond_destroy(&audit->written);
        g_free(audit->trouble);
        g_free(audit->dir);
        g_free(audit);
}

void audit_put(Audit *audit, const char *fields, bool durable, AuditDone done, void *arg)
{
        Line *line = g_new0(Line, 1);
        bool waits;

        *line = (Line){ g_strdup(fields), clock_now_ms(), durable, done, arg };
        pthread_mutex_lock(&audit->mutex);
        waits = !audit->trouble && audit->waiting->len < AUDIT_WAITING_MAX;
        if (!waits)
                line->done = NULL;
        if (audit->waiting->len < AUDIT_WAITING_MAX) {
                g_ptr_array_add(audit->waiting, line);
                audit->n_handed_over++;
        } else {
                audit->lost++;
                line_free(line);
        }
        pthread_cond_signal(&audit->changed);
        pthread_mutex_unlock(&audit->mutex);
        if (!waits && done)
                done(arg);
}

void audit_set_tick(Audit *audit, void (*tick)(bool last, void *arg), void *arg)
{
        pthread_mutex_lock(&audit->tick_mutex);
        audit->tick = tick;
        audit->tick_arg = arg;
        pthread_mutex_unlock(&audit->tick_mutex);
}

char *audit_trouble(Audit *audit)
{
        char *trouble;

        pthread_mutex_lock(&audit->mutex);
        trouble = g_strdup(audit->trouble);
        pthread_mutex_unlock(&audit->mutex);
        return trouble;
}

ChainHead audit_head(Audit *audit)
{
        ChainHead head;

        pthread_mutex_lock(&audit->mutex);
        head = audit->head;
        pthread_mutex_unlock(&audit->mutex);
        return head;
}

const char *audit_dir(const Audit *audit)
{
        return audit->dir;
}

/* ---- reading ---- */

/* Lines that were handed over before are in the files, unless the disk takes none. */
static void await_written(Audit *audit)
{
        gint64 until_ms = clock_monotonic_ms() + TICK_MS, wanted;

        pthread_mutex_lock(&audit->mutex);
        wanted = audit->n_handed_over;
        while (audit->n_written < wanted && !audit->trouble && !audit->stop &&
               clock_monotonic_ms() < until_ms)
                (void)cond_wait_until(&audit->written, &audit->mutex, until_ms);
        pthread_mutex_unlock(&audit->mutex);
}

static bool is_asked_for(const AuditQuery *query, const json_t *line)
{
        return json_integer_value(json_object_get(line, "seq")) > query->since &&
               (!query->user ||
                g_strcmp0(json_string_value(json_object_get(line, "user")), query->user) == 0);
}

/* Adds the lines of a file that are asked for: the first, or the last, `limit`. */
static bool read_file_lines(const char *path, const AuditQuery *query, int limit, bool newest, json_t *ret,
                            GError **error)
{
        g_autofree char *text = NULL;
        gsize len;

        if (!g_file_test(path, G_FILE_TEST_EXISTS)) /* it was dropped meanwhile */
                return true;
        if (!file_read(path, FILE_READ_MAX, &text, &len, error))
                return false;
        for (char *at = text, *end; (end = memchr(at, '\n', len - (gsize)(at - text))); at = end + 1) {
                g_autoptr(json_t) line = json_parse(at, (gsize)(end - at), NULL);

                if (!line || !is_asked_for(query, line))
                        continue;
                json_object_del(line, "prev");
                json_array_append(ret, line);
                if ((int)json_array_size(ret) > limit && newest)
                        json_array_remove(ret, 0);
                else if ((int)json_array_size(ret) == limit && !newest)
                        break;
        }
        return true;
}

/* Might the file have lines behind `since`? The next one's name says where it ends. */
static bool is_before(const GPtrArray *files, guint i, gint64 since)
{
        return i + 1 < files->len && g_ascii_strtoll(files->pdata[i + 1], NULL, 10) <= since + 1;
}

json_t *audit_read(Audit *audit, const AuditQuery *query, GError **error)
{
        g_autoptr(GPtrArray) files = NULL;
        g_autoptr(json_t) items = json_array();
        bool newest = query->since < 0;

        await_written(audit);
        files = chain_files(audit->dir, error);
        for (guint n = 0; files && n < files->len && (int)json_array_size(items) < query->limit; n++) {
                guint i = newest ? files->len - 1 - n : n;
                g_autofree char *path = g_build_filename(audit->dir, files->pdata[i], NULL);
                g_autoptr(json_t) found = json_array();

                if (!newest && is_before(files, i, query->since))
                        continue;
                if (!read_file_lines(path, query, query->limit - (int)json_array_size(items), newest, found,
                                     error))
                        return NULL;
                if (newest) {
                        json_array_extend(found, items);
                        json_decref(items);
                        items = g_steal_pointer(&found);
                } else {
                        json_array_extend(items, found);
                }
        }
        return files ? g_steal_pointer(&items) : NULL;
}
