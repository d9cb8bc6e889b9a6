/* The stream of a job's logs (see log-stream.h).
 *
 * Bytes come from the members' files, which the members write themselves; the stream keeps an offset for each
 * and sends whole lines, of several files that have some the oldest first. Its cursor, the offsets as text,
 * is the id of every event, so that a client that comes back misses and repeats nothing.
 *
 *     pull:  job ─▶ changed? its state is due once all that was written by now is sent
 *             │
 *             └─▶ files with news, by time ─▶ lines ─▶ state, when due ─▶ unended lines, a few times a second
 *
 * Of a line that is redrawn the states that are over are passed over: the offset moves to the CR in front of
 * the last one, so that a later stream still knows it for redrawn.
 *
 * A user decides how many files a job has: members, attempts. So a look is a stat, only what is sent is
 * opened, one file at a time, and between two pulls a stream holds no descriptor. Only the newest attempt is
 * watched. */
#include "api/v1/log-stream.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/v1/live.h"
#include "api/v1/log-file.h"
#include "api/v1/log-text.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/keyed-hash.h"
#include "base/number.h"
#include "base/text-cut.h"

enum {
        PIECE = 32 * 1024,      /* bytes of one event's text at most, and of a pull, roughly */
        BUILD_BACK = 64 * 1024, /* bytes of an environment's log in which its last build is looked for */
        PASSES = 64,            /* the most pieces of one pull, including skipped ones */
        PARTIAL_MS = 100,       /* between two rounds of unended lines */
};

/* ---- a member's file ---- */

typedef struct {
        char *name;               /* "trainer-0" */
        int attempt, role, index; /* role: -1: the environment's */
        char *path, *dir;
        guint64 offset;  /* of the next byte to send */
        guint64 size;    /* when it was last looked at */
        guint64 due;     /* bytes that come before the state that is due */
        guint64 shown;   /* how far the unended line was when it was last sent; 0: it was not */
        guint64 held;    /* up to here no line ends that was not sent; 0: not known */
        gint64 time;     /* while there are several with news: when the next byte was written */
        LogTimes *times; /* NULL until it is asked */
        bool watched;    /* it exists, and its directory is watched if that is of use */
        gint64 built;    /* ms: this is to be said instead of what stands before `offset`; 0: nothing is */
        bool shared;     /* earlier builds are to be skipped as soon as it exists; nothing is sent before */
} LogFile;

static void log_file_free(LogFile *file)
{
        g_free(file->times);
        g_free(file->name);
        g_free(file->path);
        g_free(file->dir);
        g_free(file);
}

/* ---- the stream ---- */

struct LogStream {
        Api *api;
        LiveStream *live;         /* NULL: it is a part of another stream */
        LogStreamOptions options; /* its texts are ours */
        char *job_id, *user;
        GHashTable *sent;   /* "ATTEMPT.MEMBER" -> guint64 *, the offsets of the client's cursor */
        GPtrArray *files;   /* LogFile *: of the attempts that have begun */
        int attempt;        /* the newest in `files`; 0: none */
        gint64 noticed;     /* revision of the job when it was last looked at; -1: never */
        gint64 partial_at;  /* monotonic ms: the next round of unended lines, */
        guint partial_next; /* and the file that it begins with */
        char *state_sent;   /* NULL: none was */
        bool state_due, with_environment;
        bool begun; /* files that come from now on are sent whole */
        char *dir;  /* of the last look; its descriptor, */
        int dir_fd;
        const LogFile *open; /* the file that was read last, */
        int fd;              /* and its descriptor: -1 between two pulls */
};

/* ---- its descriptors ---- */

static void close_dir(LogStream *stream)
{
        if (stream->dir_fd >= 0)
                close(stream->dir_fd);
        stream->dir_fd = -1;
        g_clear_pointer(&stream->dir, g_free);
}

static void close_file(LogStream *stream)
{
        if (stream->fd >= 0)
                close(stream->fd);
        stream->fd = -1;
        stream->open = NULL;
}

/* Opens this file in the place of the one before; false when it cannot be read. */
static bool open_file(LogStream *stream, const LogFile *file)
{
        if (stream->open == file && stream->fd >= 0)
                return true;
        close_file(stream);
        stream->fd = member_log_open(stream->api, file->path);
        stream->open = file;
        return stream->fd >= 0;
}

/* Files come in the order of their directories. */
static bool stat_file(LogStream *stream, const LogFile *file, struct stat *ret)
{
        if (g_strcmp0(stream->dir, file->dir) != 0) {
                close_dir(stream);
                stream->dir = g_strdup(file->dir);
                stream->dir_fd = member_log_open(stream->api, file->dir);
        }
        return stream->dir_fd >= 0 &&
               fstatat(stream->dir_fd, strrchr(file->path, '/') + 1, ret, AT_SYMLINK_NOFOLLOW) == 0 &&
               S_ISREG(ret->st_mode);
}

static void log_stream_close(void *arg)
{
        LogStream *stream = arg;

        if (stream->options.terminal)
                engine_terminal(stream->api->engine, stream->job_id, false);
        close_file(stream);
        close_dir(stream);
        g_ptr_array_unref(stream->files);
        g_strfreev(stream->options.members);
        g_hash_table_unref(stream->sent);
        g_free(stream->state_sent);
        g_free(stream->job_id);
        g_free(stream->user);
        g_free(stream);
}

/* The offsets of a cursor, which may have one for each member of a large job. An invalid offset is ignored.
 * */
static GHashTable *cursor_parse(const char *cursor)
{
        GHashTable *offsets = g_hash_table_new_full(keyed_hash, g_str_equal, g_free, g_free);
        g_auto(GStrv) parts = g_strsplit(cursor ? cursor : "", ",", -1);

        for (char **part = parts; *part; part++) {
                const char *colon = strrchr(*part, ':');
                gint64 offset;

                if (colon && number_parse("cursor", colon + 1, 0, G_MAXINT64, &offset, NULL))
                        g_hash_table_insert(offsets, g_strndup(*part, (gsize)(colon - *part)),
                                            g_memdup2(&(guint64){ (guint64)offset }, sizeof(guint64)));
        }
        return offsets;
}

/* 0: the client has nothing of this file. */
static guint64 offset_sent(const LogStream *stream, int attempt, const char *member)
{
        g_autofree char *key = g_strdup_printf("%d.%s", attempt, member);
        const guint64 *offset = g_hash_table_lookup(stream->sent, key);

        return offset ? *offset : 0;
}

/* Before the first attempt it says that nothing has been sent, which an empty one would not. */
static char *cursor_format(const LogStream *stream)
{
        GString *text = g_string_new(stream->files->len ? NULL : "0.environment:0");

        for (guint i = 0; i < stream->files->len; i++) {
                const LogFile *file = stream->files->pdata[i];

                g_string_append_printf(text, "%s%d.%s:%" G_GUINT64_FORMAT, i ? "," : "", file->attempt,
                                       file->name, file->offset);
        }
        return g_string_free(text, FALSE);
}

static void watch(const LogStream *stream, const char *dir)
{
        if (stream->live)
                live_stream_watch(stream->live, dir);
}

/* Watches the directory; while it is missing also the two above it ("jobs" and one group of jobs), so that
 * its creation is seen. The outermost comes first: a directory that is made meanwhile is then not missed. */
static void watch_even_if_missing(const LogStream *stream, const char *dir)
{
        g_autofree char *group = g_path_get_dirname(dir), *all = g_path_get_dirname(group);

        if (access(dir, F_OK) < 0) {
                watch(stream, all);
                watch(stream, group);
        }
        watch(stream, dir);
}

/* Which environment a job has is known once the job is linked to it: until then its log is behind a link,
 * which is not followed. The environment's directory is made later, when its build has its turn. */
static void find_environment(const LogStream *stream, LogFile *file)
{
        Runtime *runtime = stream->api->runtime;
        g_autofree char *above = g_path_get_dirname(file->dir);
        char *path = runtime->ops->log_path(runtime, stream->job_id, 0, log_environment, 0);

        watch_even_if_missing(stream, above);
        if (!path)
                return;
        g_free(file->path);
        g_free(file->dir);
        file->path = path;
        file->dir = g_path_get_dirname(path);
        watch_even_if_missing(stream, file->dir);
}

/* Stats a file that may not be there yet. Its directory is watched first, so that what comes after is not
 * missed; that one may be missing, too: it is made before the member's start, whose publication brings us
 * here again. */
static bool find_file(LogStream *stream, LogFile *file, struct stat *ret)
{
        if (!file->watched && strcmp(file->name, log_environment) == 0)
                find_environment(stream, file);
        if (!file->watched && (file->attempt == 0 || file->attempt == stream->attempt))
                watch(stream, file->dir);
        if (!stat_file(stream, file, ret))
                return false;
        file->watched = true;
        return true;
}

/* Where the last of the builds in a log begins, as far as its end tells. */
static guint64 last_build(int fd, guint64 size)
{
        static const char banner[] = "\n== building "; /* runtime/environment/environment.c */
        guint64 start = size > BUILD_BACK ? size - BUILD_BACK : 0;
        g_autofree char *text = g_malloc0(BUILD_BACK + 1);
        const char *found = NULL;

        if (pread(fd, text, BUILD_BACK, (off_t)start) <= 0)
                return 0;
        for (const char *at = text; (at = strstr(at, banner)); at++)
                found = at;
        return found ? start + (guint64)(found + 1 - text) : 0;
}

/* Jobs with the same requirements share an environment and its log. Of what was written before this job came
 * it gets one line, when the build ended, and of its own time the last build. */
static void skip_earlier_builds(LogStream *stream, LogFile *file, const Job *job)
{
        struct stat st;
        gint64 written;

        if (!find_file(stream, file, &st) || !open_file(stream, file))
                return;
        file->shared = false;
        written = file_mtime_ms(&st);
        if (written >= job->submitted) {
                file->offset = last_build(stream->fd, (guint64)st.st_size);
                return;
        }
        file->offset = (guint64)st.st_size;
        file->built = job_environment(job) == PREPARATION_READY && stream->options.tail != 0 ? written : 0;
}

/* Skips the lines that existed when the stream began and that `tail` or `since` exclude. */
static void skip_beginning(LogStream *stream, LogFile *file)
{
        const LogStreamOptions *options = &stream->options;
        struct stat st;

        if (stream->begun || (options->tail < 0 && !options->since) || !find_file(stream, file, &st) ||
            !open_file(stream, file))
                return;
        if (options->tail >= 0)
                file->offset = member_log_tail(stream->fd, (guint64)st.st_size, options->tail);
        if (options->since)
                file->offset = MAX(file->offset,
                                   log_times_since(stream->api, file->path, stream->fd, options->since));
}

static void add_file(LogStream *stream, const Job *job, int attempt, int role, int index)
{
        bool environment = role < 0;
        const char *role_name = environment ? log_environment : job->spec->roles[role].name;
        g_autofree char *name =
                environment ? g_strdup(role_name) : g_strdup_printf("%s-%d", role_name, index);
        char **members = stream->options.members;
        Runtime *runtime = stream->api->runtime;
        g_autofree char *path = NULL;
        LogFile *file;

        if (members && !g_strv_contains((const char *const *)members, name))
                return;
        path = runtime->ops->log_path(runtime, job->id, attempt, role_name, index);
        if (!path)
                return;
        file = g_new0(LogFile, 1);
        file->name = g_steal_pointer(&name);
        file->dir = g_path_get_dirname(path);
        file->path = g_steal_pointer(&path);
        file->attempt = attempt;
        file->role = role;
        file->index = index;
        g_ptr_array_add(stream->files, file);
        file->offset = offset_sent(stream, attempt, file->name);
        if (file->offset > 0)
                return;
        file->shared = environment && !members;
        if (file->shared)
                skip_earlier_builds(stream, file, job);
        if (file->offset == 0)
                skip_beginning(stream, file);
}

/* Drops all watches. Logs of earlier attempts do not grow; the next look watches those that do. */
static void unwatch(LogStream *stream)
{
        if (stream->live)
                live_stream_unwatch(stream->live);
        for (guint i = 0; i < stream->files->len; i++)
                ((LogFile *)stream->files->pdata[i])->watched = false;
}

/* Adds the files of attempts that have begun since the last look. */
static void add_attempts(LogStream *stream, const Job *job)
{
        const LogStreamOptions *options = &stream->options;
        int last = options->attempt ? MIN(options->attempt, job->attempt) : job->attempt;

        if (!stream->with_environment && job_environment(job) != PREPARATION_NONE) {
                if (!options->attempt || options->members)
                        add_file(stream, job, 0, -1, 0);
                stream->with_environment = true;
        }
        for (guint i = 0; i < stream->files->len; i++)
                if (((const LogFile *)stream->files->pdata[i])->shared)
                        skip_earlier_builds(stream, stream->files->pdata[i], job);
        if (stream->attempt < last)
                unwatch(stream);
        while (stream->attempt < last) {
                stream->attempt++;
                for (int role = 0; role < job->spec->n_roles; role++)
                        for (int index = 0; index < job->spec->roles[role].replicas; index++)
                                add_file(stream, job, stream->attempt, role, index);
        }
        stream->begun = true;
}

/* ---- what may end ---- */

/* No member may run (engine/life.c): what the attempt so far wrote is all. */
static bool is_at_rest(const Job *job)
{
        return job_state_is_final(job->state) || job->state == JOB_QUEUED || job->state == JOB_SUSPENDED;
}

static bool member_is_over(const Job *job, const LogFile *file)
{
        for (int i = 0; i < job->n_members; i++) {
                const Member *member = &job->members[i];

                if (member->role == file->role && member->index == file->index)
                        return member->state == MEMBER_EXITED || member->state == MEMBER_LOST;
        }
        return false;
}

/* True if the last line of the file will not grow, or the stream does not wait for it. */
static bool is_over(const LogStream *stream, const Job *job, const LogFile *file)
{
        if (!stream->options.follow || job_state_is_final(job->state))
                return true;
        if (file->attempt == 0)
                return false;
        return file->attempt < job->attempt || is_at_rest(job) || member_is_over(job, file);
}

/* ---- lines ---- */

static void send_event(const LogStream *stream, GString *out, const char *event, json_t *data)
{
        g_autofree char *text = NULL, *cursor = NULL;

        if (stream->options.sink) {
                stream->options.sink->event(stream->options.sink->arg, event, data, out);
                return;
        }
        text = json_format(data);
        cursor = cursor_format(stream);
        sse_append(out, cursor, event, text);
        json_decref(data);
}

static void send_text(const LogStream *stream, const LogFile *file, GString *out, const char *text,
                      gint64 time)
{
        g_autofree char *when = time ? clock_format(time) : NULL;
        json_t *data = json_pack("{s:i, s:s, s:I, s:s}", "attempt", file->attempt, "member", file->name,
                                 "offset", (json_int_t)file->offset, "text", text);

        if (when)
                json_object_set_new(data, "time", json_string(when));
        send_event(stream, out, "log", data);
}

static void send_built(const LogStream *stream, LogFile *file, GString *out)
{
        g_autofree char *when = clock_format(file->built);
        g_autofree char *line = g_strdup_printf("ready, built %s\n", when);
        gint64 time = stream->options.times ? file->built : 0;

        file->built = 0;
        send_text(stream, file, out, line, time);
}

/* How much of `text` to send: whole lines, those that begin within `most`, but at least one; or all of it
 * when a line is longer than a piece or nothing follows. */
static gsize whole_lines(const char *text, gsize len, gsize most, bool flush)
{
        const char *newline = memrchr(text, '\n', MIN(len, most));

        if (!newline && most < len)
                newline = memchr(text + most, '\n', len - most);
        if (newline)
                return (gsize)(newline - text) + 1;
        if (len == PIECE)
                return text_whole_characters(text, len);
        return flush ? len : 0;
}

/* 0: the file cannot be opened. */
static gint64 time_at(LogStream *stream, LogFile *file, guint64 offset, guint64 *ret_end)
{
        *ret_end = offset + 1;
        if (!open_file(stream, file))
                return 0;
        if (!file->times)
                file->times = g_new0(LogTimes, 1);
        return log_times_at(file->times, stream->api, file->path, stream->fd, offset, ret_end);
}

/* When the piece was written; a line that was redrawn is as old as its last state. */
static gint64 piece_time(LogStream *stream, LogFile *file, const char *text, gsize len)
{
        const char *newline = memchr(text, '\n', len);
        bool is_line = !stream->options.raw && (!newline || newline == text + len - 1);
        gsize stale = is_line ? log_text_stale(text, len - (newline != NULL)) : 0;
        guint64 end;

        return time_at(stream, file, file->offset + stale, &end);
}

/* How many bytes from here on are not younger than `until`; with times, only those of one time. */
static gsize bytes_until(LogStream *stream, LogFile *file, gint64 until)
{
        guint64 end, next;

        (void)time_at(stream, file, file->offset, &end); /* the first of them is not asked about */
        while (!stream->options.times && end < file->size && end < file->offset + PIECE) {
                if (time_at(stream, file, end, &next) > until)
                        break;
                end = next;
        }
        return (gsize)(end - file->offset);
}

/* Sends what one file has and is not younger than `until` (ms); false when there is nothing to send yet. */
static bool send_piece(LogStream *stream, LogFile *file, gint64 until, bool flush, GString *out)
{
        bool all = until == G_MAXINT64 && !stream->options.times, opened = open_file(stream, file);
        gsize most = all ? PIECE : bytes_until(stream, file, until), len;
        g_autofree char *buffer = g_malloc(PIECE), *valid = NULL;
        ssize_t got = opened ? pread(stream->fd, buffer, PIECE, (off_t)file->offset) : -1;
        g_autoptr(GString) text = g_string_new(NULL);
        gint64 time;

        if (got <= 0)
                return false;
        if (!stream->options.raw && !memchr(buffer, '\n', (gsize)got)) {
                len = log_text_stale(buffer, (gsize)got);
                file->offset += len;
                if (len > 0)
                        return true;
        }
        len = whole_lines(buffer, (gsize)got, most, flush);
        if (len == 0)
                return false;
        if (stream->options.raw)
                g_string_append_len(text, buffer, (gssize)len);
        else
                log_text_settle(buffer, len, text);
        valid = g_utf8_make_valid(text->str, (gssize)text->len);
        time = stream->options.times ? piece_time(stream, file, buffer, len) : 0;
        file->offset += len;
        send_text(stream, file, out, valid, time);
        return true;
}

/* Looks how long the file is by now; false when it is not there or not to be sent yet. */
static bool look_at(LogStream *stream, LogFile *file)
{
        struct stat st;

        if (file->shared || !find_file(stream, file, &st))
                return false;
        file->size = (guint64)st.st_size;
        return true;
}

static bool has_news(LogStream *stream, const Job *job, LogFile *file)
{
        return look_at(stream, file) && file->size > file->offset &&
               (file->size != file->held || is_over(stream, job, file));
}

/* Of the oldest attempt that has some. */
static GPtrArray *files_with_news(LogStream *stream, const Job *job)
{
        GPtrArray *news = g_ptr_array_new();
        guint64 end;

        for (guint i = 0; i < stream->files->len; i++) {
                LogFile *file = stream->files->pdata[i];
                const LogFile *first = news->len ? news->pdata[0] : file;

                if (file->attempt == first->attempt && has_news(stream, job, file))
                        g_ptr_array_add(news, file);
        }
        for (guint i = 0; i < news->len && news->len > 1; i++) {
                LogFile *file = news->pdata[i];

                file->time = time_at(stream, file, file->offset, &end);
        }
        return news;
}

/* The place of the one with the oldest line, and the time of the next one's. */
static guint oldest(const GPtrArray *news, gint64 *ret_until)
{
        guint first = 0;

        *ret_until = G_MAXINT64;
        for (guint i = 1; i < news->len; i++) {
                const LogFile *file = news->pdata[i], *best = news->pdata[first];

                *ret_until = MIN(*ret_until, MAX(file->time, best->time));
                if (file->time < best->time)
                        first = i;
        }
        return first;
}

/* Sends some of what there is; true when there may be more. */
static bool send_lines(LogStream *stream, const Job *job, GString *out)
{
        g_autoptr(GPtrArray) news = files_with_news(stream, job);
        gsize most = out->len + PIECE;
        int passes = 0;
        bool moved = false;

        while (news->len > 0 && out->len < most && passes++ < PASSES) {
                gint64 until;
                guint i = oldest(news, &until);
                LogFile *file = news->pdata[i];
                guint64 end;

                if (send_piece(stream, file, until, is_over(stream, job, file), out))
                        moved = true;
                else
                        file->held = file->size;
                if (file->held == file->size || file->offset >= file->size)
                        g_ptr_array_remove_index(news, i);
                else if (news->len > 1)
                        file->time = time_at(stream, file, file->offset, &end);
        }
        return moved;
}

/* An earlier attempt's file is left once all of it has been sent: the cursor has to stay short. The
 * environment's stays, or a cursor without it would repeat it. */
static void leave_earlier(LogStream *stream)
{
        close_file(stream);
        for (guint i = 0; i < stream->files->len; i++) {
                const LogFile *file = stream->files->pdata[i];

                if (file->attempt > 0 && file->attempt < stream->attempt && file->offset >= file->size)
                        g_ptr_array_remove_index(stream->files, i--);
        }
}

static void send_builts(LogStream *stream, GString *out)
{
        for (guint i = 0; i < stream->files->len; i++) {
                LogFile *file = stream->files->pdata[i];

                if (file->built)
                        send_built(stream, file, out);
        }
}

/* ---- lines without an end ---- */

static void send_partial(LogStream *stream, LogFile *file, GString *out)
{
        g_autofree char *buffer = g_malloc(PIECE), *valid = NULL, *data = NULL;
        bool opened = open_file(stream, file);
        ssize_t got = opened ? pread(stream->fd, buffer, PIECE, (off_t)file->offset) : -1;
        g_autoptr(GString) text = g_string_new(NULL);
        g_autoptr(json_t) event = NULL;

        file->shown = file->size;
        if (got <= 0)
                return;
        log_text_partial(buffer, (gsize)got, text);
        valid = g_utf8_make_valid(text->str, (gssize)text->len);
        event = json_pack("{s:i, s:s, s:s}", "attempt", file->attempt, "member", file->name, "text", valid);
        data = json_format(event);
        sse_append(out, NULL, "partial", data);
}

/* Those that changed, not more often than people can see; what has no place in this round comes first in the
 * next. */
static void send_partials(LogStream *stream, GString *out)
{
        gint64 now = clock_monotonic_ms();
        gsize most = out->len + PIECE;
        guint n = stream->files->len, first = stream->partial_next;

        for (guint k = 0; k < n; k++) {
                LogFile *file = stream->files->pdata[(first + k) % n];

                if (file->size <= file->offset || file->size == file->shown)
                        continue;
                if (now < stream->partial_at || out->len >= most) {
                        live_stream_wake_at(stream->live, MAX(stream->partial_at, now));
                        break;
                }
                send_partial(stream, file, out);
                stream->partial_next = (first + k + 1) % n;
        }
        if (now >= stream->partial_at)
                stream->partial_at = now + PARTIAL_MS;
}

/* ---- states ---- */

/* A wait that only became shorter is no news: "tried again in 983 ms". */
static char *without_waits(const char *text)
{
        g_autoptr(GRegex) wait =
                g_regex_new(" in [0-9.]+ ?(ms|s|m [0-9]+s|h [0-9]+m)\\b", G_REGEX_DEFAULT, 0, NULL);

        return g_regex_replace_literal(wait, text, -1, 0, " in", 0, NULL);
}

static void send_state(LogStream *stream, const Job *job, GString *out)
{
        g_autofree char *waiting = engine_explain(stream->api->engine, job);
        const char *reason = waiting ? waiting : job->reason ? job->reason : "";
        json_t *data = json_pack("{s:s, s:s, s:i, s:s}", "state", job_state_name(job->state), "reason",
                                 reason, "attempt", job->attempt, "environment",
                                 preparation_state_name(job_environment(job)));
        g_autofree char *text = json_format(data), *key = without_waits(text);

        stream->state_due = false;
        if (g_strcmp0(key, stream->state_sent) == 0) {
                json_decref(data);
                return;
        }
        g_free(stream->state_sent);
        stream->state_sent = g_steal_pointer(&key);
        send_event(stream, out, "state", data);
}

/* Lines that are written by now are sent before the new state. */
static void notice_change(LogStream *stream, const Job *job)
{
        stream->state_due = true;
        stream->noticed = job->revision;
        for (guint i = 0; i < stream->files->len; i++) {
                LogFile *file = stream->files->pdata[i];

                file->due = look_at(stream, file) ? file->size : 0;
        }
}

/* All that comes before the state that is due was sent, but for lines that have no end yet. A client that has
 * just come hears at once how the job is, unless that is the end of what it is about to read. */
static bool is_caught_up(const LogStream *stream, const Job *job)
{
        if (!stream->state_sent && !(job->attempt > 0 && is_at_rest(job)))
                return true;
        for (guint i = 0; i < stream->files->len; i++) {
                const LogFile *file = stream->files->pdata[i];

                if (file->offset < file->due && (file->held != file->size || is_over(stream, job, file)))
                        return false;
        }
        return true;
}

/* ---- the end ---- */

static bool has_ended(const LogStream *stream, const Job *job)
{
        int only = stream->options.attempt;

        return !stream->options.follow || job_state_is_final(job->state) ||
               (only && (only < job->attempt || is_at_rest(job)));
}

static StreamState send_failure(const LogStream *stream, GString *out, const GError *error)
{
        g_autoptr(json_t) body = json_from_error(error, NULL);
        g_autofree char *text = json_format(body);

        if (stream->options.sink)
                stream->options.sink->event(stream->options.sink->arg, "error", json_incref(body), out);
        else
                sse_append(out, NULL, "error", text);
        return STREAM_END;
}

static StreamState send_some(LogStream *stream, GString *out)
{
        g_autoptr(GError) error = NULL;
        g_autoptr(Job) job = engine_find(stream->api->engine, stream->user, stream->job_id, &error);

        if (!job)
                return send_failure(stream, out, error);
        add_attempts(stream, job);
        send_builts(stream, out);
        if (job->revision != stream->noticed || job->state == JOB_QUEUED)
                notice_change(stream, job);
        if (stream->state_due && is_caught_up(stream, job))
                send_state(stream, job, out);
        if (send_lines(stream, job, out))
                return STREAM_MORE;
        leave_earlier(stream);
        if (stream->state_due)
                send_state(stream, job, out);
        if (has_ended(stream, job)) {
                send_event(stream, out, "end",
                           json_pack("{s:s, s:s}", "state", job_state_name(job->state), "reason",
                                     job->reason ? job->reason : ""));
                return STREAM_END;
        }
        if (stream->options.partial)
                send_partials(stream, out);
        return STREAM_WAIT;
}

static StreamState log_stream_pull(GString *out, void *arg)
{
        LogStream *stream = arg;
        StreamState state = send_some(stream, out);

        close_file(stream);
        close_dir(stream);
        return state;
}

/* The attempt before the first to be sent: the newest but one; of a cursor the first that it names, and all
 * when it is from before the first. */
static int first_attempt(const Job *job, const char *cursor, int asked)
{
        gint64 first = asked ? asked : job->attempt, named = 0;
        g_auto(GStrv) parts = g_strsplit(cursor ? cursor : "", ",", -1);

        for (char **part = parts; *part; part++) {
                g_autofree char *number = g_strndup(*part, strcspn(*part, "."));
                gint64 attempt;

                if (number_parse("cursor", number, 1, job->attempt, &attempt, NULL))
                        named = named ? MIN(named, attempt) : attempt;
        }
        if (parts[0] && !asked)
                first = named;
        return (int)MAX(first - 1, 0);
}

LogStream *log_source_new(Api *api, const Job *job, const LogStreamOptions *options)
{
        LogStream *stream = g_new0(LogStream, 1);

        *stream = (LogStream){
                .api = api,
                .options = *options,
                .job_id = g_strdup(job->id),
                .user = g_strdup(job->user),
                .sent = cursor_parse(options->cursor),
                .files = g_ptr_array_new_with_free_func((GDestroyNotify)log_file_free),
                .attempt = first_attempt(job, options->cursor, options->attempt),
                .noticed = -1,
                .dir_fd = -1,
                .fd = -1,
        };
        stream->options.cursor = NULL;
        return stream;
}

void log_source_free(LogStream *source)
{
        if (source)
                log_stream_close(source);
}

StreamState log_source_pull(LogStream *source, GString *out)
{
        return log_stream_pull(out, source);
}

char *log_source_cursor(const LogStream *source)
{
        return cursor_format(source);
}

void log_stream_start(Api *api, HttpRequest *request, const Job *job, const LogStreamOptions *options)
{
        LogStream *stream = log_source_new(api, job, options);

        if (options->terminal)
                engine_terminal(api->engine, job->id, true);
        stream->live = live_stream_new(api, log_stream_pull, log_stream_close, stream);
        live_stream_start(stream->live, request);
}
