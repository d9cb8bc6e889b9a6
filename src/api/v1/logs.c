/* Logs over HTTP: one member's file, and all members as one resumable stream (doc/rest.md, "The log stream").
 *
 * Bytes come from the members' files, which the members write themselves; the stream keeps an offset for each
 * and sends whole lines. Its cursor, the offsets as text, is the id of every event, so that a client that
 * comes back misses and repeats nothing. */
#include "api/v1/live.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/number.h"
#include "model/framework.h"

enum {
        PIECE = 32 * 1024, /* bytes of one event's text at most */
        TAIL_MAX = 1000000,
        TAIL_BACK = 64 * 1024,            /* bytes read at a time while looking for the start of the tail */
        TAIL_FARTHEST = 16 * 1024 * 1024, /* which is not looked for before that: few line ends, or a hole */
};

static const char environment_member[] = "environment";

/* ---- a member's file ---- */

typedef struct {
        char *name; /* "trainer-0" */
        int attempt;
        char *path, *dir;
        guint64 offset; /* of the next byte to send */
        int fd;         /* -1 until it exists */
        gint64 built;   /* ms: this is to be said instead of what stands before `offset`; 0: nothing is */
        bool shared;    /* earlier builds are to be skipped as soon as it exists; nothing is sent before */
} LogFile;

static void log_file_free(LogFile *file)
{
        if (file->fd >= 0)
                close(file->fd);
        g_free(file->name);
        g_free(file->path);
        g_free(file->dir);
        g_free(file);
}

/* The role and index of "trainer-0" in this job; false when it has no such member. */
static bool member_find(const Job *job, const char *member, const char **ret_role, int *ret_index)
{
        const char *dash = strrchr(member, '-');
        gint64 index;

        if (strcmp(member, environment_member) == 0) {
                *ret_role = environment_member;
                *ret_index = 0;
                return true;
        }
        if (!dash || !number_parse("member", dash + 1, 0, SPEC_REPLICAS_MAX, &index, NULL))
                return false;
        for (int i = 0; i < job->spec->n_roles; i++) {
                const Role *role = &job->spec->roles[i];

                if (strlen(role->name) != (size_t)(dash - member) ||
                    strncmp(role->name, member, (size_t)(dash - member)) != 0)
                        continue;
                if (index >= role->replicas)
                        return false;
                *ret_role = role->name;
                *ret_index = (int)index;
                return true;
        }
        return false;
}

static bool unknown_member(const Job *job, const char *member, GError **error)
{
        g_autoptr(GString) names = g_string_new(NULL);

        for (int i = 0; i < job->spec->n_roles; i++)
                if (job->spec->roles[i].replicas == 1)
                        g_string_append_printf(names, "%s-0, ", job->spec->roles[i].name);
                else if (job->spec->roles[i].replicas > 1)
                        g_string_append_printf(names, "%s-0 to %s-%d, ", job->spec->roles[i].name,
                                               job->spec->roles[i].name, job->spec->roles[i].replicas - 1);
        return err_set(error, ERR_NOT_FOUND, "job '%s' has no member '%.80s'\nIts members are %senvironment.",
                       job->name, member, names->str);
}

static char *path_of(Api *api, const Job *job, int attempt, const char *role, int index)
{
        Runtime *runtime = api->runtime;

        return runtime->ops->log_path(runtime, job->id, attempt, role, index);
}

/* -1 when it is not there. Below the state directory no link is followed: what a member could have put in the
 * way leads nowhere. */
static int open_log(const Api *api, const char *path)
{
        gsize len = strlen(api->state_dir);
        g_auto(GStrv) parts = NULL;
        int at;

        if (!g_str_has_prefix(path, api->state_dir) || path[len] != '/')
                return -1;
        parts = g_strsplit(path + len + 1, "/", -1);
        at = open(api->state_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
        for (char **part = parts; at >= 0 && *part; part++) {
                int flags = part[1] ? O_PATH | O_DIRECTORY : O_RDONLY | O_NONBLOCK | O_NOCTTY;
                int next = openat(at, *part, flags | O_NOFOLLOW | O_CLOEXEC);

                close(at);
                at = next;
        }
        return at;
}

/* Were they removed, since nothing needs them (doc/storage.md)? Then that is the answer. */
static bool answer_gone(const Api *api, HttpRequest *request, const Job *job)
{
        g_autofree char *mark =
                g_strdup_printf("%s/jobs/%.2s/%s/" SURVEY_LOGS_GONE, api->state_dir, job->id, job->id);
        g_autoptr(GError) error = NULL;

        if (!job_state_is_final(job->state) || access(mark, F_OK) < 0)
                return false;
        err_set(&error, ERR_GONE,
                "the logs of job '%s' were removed some time after its end (paddled --gc logs=...)",
                job->name);
        http_fail(request, error);
        return true;
}

/* The offset at which the last `lines` lines begin. */
static guint64 tail_offset(int fd, guint64 size, gint64 lines)
{
        g_autofree char *buffer = g_malloc(TAIL_BACK);
        guint64 end = size, first = size > TAIL_FARTHEST ? size - TAIL_FARTHEST : 0;
        bool last_byte = true;

        if (lines == 0)
                return size;
        while (end > first) {
                guint64 start = end - first > TAIL_BACK ? end - TAIL_BACK : first;
                ssize_t got = pread(fd, buffer, end - start, (off_t)start);

                if (got <= 0)
                        return start;
                for (ssize_t i = got - 1; i >= 0; i--) {
                        if (buffer[i] == '\n' && !last_byte && --lines == 0)
                                return start + (guint64)i + 1;
                        last_byte = false;
                }
                end = start;
        }
        return first;
}

/* ---- one file ---- */

static bool query_attempt(HttpRequest *request, const Job *job, gint64 *ret)
{
        g_autoptr(GError) error = NULL;

        if (!http_request_query_int(request, "attempt", 0, G_MAXINT, 0, ret))
                return false;
        if (*ret == 0)
                *ret = job->attempt;
        if (*ret <= job->attempt)
                return true;
        err_set(&error, ERR_NOT_FOUND, "job '%s' has had %d attempt%s, not %" G_GINT64_FORMAT, job->name,
                job->attempt, job->attempt == 1 ? "" : "s", *ret);
        http_fail(request, error);
        return false;
}

static void get_log(HttpRequest *request, void *arg)
{
        Api *api = arg;
        g_autoptr(Job) job = api_job(api, request);
        g_autoptr(GError) error = NULL;
        g_autofree char *path = NULL;
        fd_auto int fd = -1;
        const char *role;
        struct stat st;
        gint64 attempt, tail;
        guint64 offset = 0;
        int index;

        if (!job || !query_attempt(request, job, &attempt) ||
            !http_request_query_int(request, "tail", 0, TAIL_MAX, -1, &tail))
                return;
        if (!member_find(job, http_request_param(request, "member"), &role, &index)) {
                unknown_member(job, http_request_param(request, "member"), &error);
                http_fail(request, error);
                return;
        }
        path = path_of(api, job, (int)attempt, role, index);
        fd = path ? open_log(api, path) : -1;
        if (fd < 0 || fstat(fd, &st) < 0) {
                if (!answer_gone(api, request, job))
                        http_reply(request, 200, "text/plain; charset=utf-8", "",
                                   0); /* it has not said anything yet */
                return;
        }
        if (tail >= 0)
                offset = tail_offset(fd, (guint64)st.st_size, tail);
        http_reply_file(request, path, fd_steal(&fd), offset, (guint64)st.st_size - offset,
                        "text/plain; charset=utf-8");
}

/* ---- the stream ---- */

typedef struct {
        Api *api;
        LiveStream *live;
        char *job_id, *user;
        char **members;   /* only these, or NULL */
        char *cursor;     /* given by the client, or NULL */
        GPtrArray *files; /* LogFile *: of the attempts that have begun */
        int attempt;      /* the newest in `files`; 0: none */
        gint64 tail;      /* -1: from the start */
        gint64 revision;  /* of the job when its state was last sent; -1: never */
        char *state_sent;
        bool follow, with_environment;
} LogStream;

static void log_stream_close(void *arg)
{
        LogStream *stream = arg;

        g_ptr_array_unref(stream->files);
        g_strfreev(stream->members);
        g_free(stream->cursor);
        g_free(stream->state_sent);
        g_free(stream->job_id);
        g_free(stream->user);
        g_free(stream);
}

/* The offset that the client's cursor has for this file; false when it has none. */
static bool cursor_offset(const char *cursor, int attempt, const char *member, guint64 *ret)
{
        g_autofree char *key = g_strdup_printf("%d.%s:", attempt, member);
        g_auto(GStrv) parts = g_strsplit(cursor ? cursor : "", ",", SPEC_REPLICAS_MAX);
        gint64 offset;

        for (char **part = parts; *part; part++) {
                if (!g_str_has_prefix(*part, key) ||
                    !number_parse("cursor", *part + strlen(key), 0, G_MAXINT64, &offset, NULL))
                        continue;
                *ret = (guint64)offset;
                return true;
        }
        return false;
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

/* Watches the directory; while it is missing also the two above it ("jobs" and one group of jobs), so that
 * its creation is seen. The outermost comes first: a directory that is made meanwhile is then not missed. */
static void watch_even_if_missing(const LogStream *stream, const char *dir)
{
        g_autofree char *group = g_path_get_dirname(dir), *all = g_path_get_dirname(group);

        if (access(dir, F_OK) < 0) {
                live_stream_watch(stream->live, all);
                live_stream_watch(stream->live, group);
        }
        live_stream_watch(stream->live, dir);
}

/* Which environment a job has is known once the job is linked to it: until then its log is behind a link,
 * which is not followed. */
static void find_environment(const LogStream *stream, LogFile *file)
{
        Runtime *runtime = stream->api->runtime;
        g_autofree char *above = g_path_get_dirname(file->dir);
        char *path = runtime->ops->log_path(runtime, stream->job_id, 0, environment_member, 0);

        watch_even_if_missing(stream, above);
        if (!path)
                return;
        g_free(file->path);
        g_free(file->dir);
        file->path = path;
        file->dir = g_path_get_dirname(path);
}

/* Opens a file that may not be there yet. Its directory is watched first, so that what comes after is not
 * missed; that one may be missing, too: it is made before the member's start, whose publication brings us
 * here again. */
static bool open_file(const LogStream *stream, LogFile *file)
{
        if (file->fd >= 0)
                return true;
        if (strcmp(file->name, environment_member) == 0)
                find_environment(stream, file);
        live_stream_watch(stream->live, file->dir);
        file->fd = open_log(stream->api, file->path);
        return file->fd >= 0;
}

/* Where the last of the builds in a log begins, as far as its end tells. */
static guint64 last_build(int fd, guint64 size)
{
        static const char banner[] = "\n== building "; /* runtime/environment/environment.c */
        guint64 start = size > TAIL_BACK ? size - TAIL_BACK : 0;
        g_autofree char *text = g_malloc0(TAIL_BACK + 1);
        const char *found = NULL;

        if (pread(fd, text, TAIL_BACK, (off_t)start) <= 0)
                return 0;
        for (const char *at = text; (at = strstr(at, banner)); at++)
                found = at;
        return found ? start + (guint64)(found + 1 - text) : 0;
}

/* Jobs with the same requirements share an environment and its log. Of what was written before this job came
 * it gets one line, when the build ended, and of its own time the last build. */
static void skip_earlier_builds(const LogStream *stream, LogFile *file, const Job *job)
{
        struct stat st;
        gint64 written;

        if (!open_file(stream, file) || fstat(file->fd, &st) < 0)
                return;
        file->shared = false;
        written = file_mtime_ms(&st);
        if (written >= job->submitted) {
                file->offset = last_build(file->fd, (guint64)st.st_size);
                return;
        }
        file->offset = (guint64)st.st_size;
        file->built = job->env_state == ENV_READY && stream->tail != 0 ? written : 0;
}

static void add_file(LogStream *stream, const Job *job, int attempt, const char *role, int index)
{
        bool environment = role == environment_member;
        g_autofree char *name = environment ? g_strdup(role) : g_strdup_printf("%s-%d", role, index);
        g_autofree char *path = NULL;
        LogFile *file;

        if (stream->members && !g_strv_contains((const char *const *)stream->members, name))
                return;
        path = path_of(stream->api, job, attempt, role, index);
        if (!path)
                return;
        file = g_new0(LogFile, 1);
        file->name = g_steal_pointer(&name);
        file->dir = g_path_get_dirname(path);
        file->path = g_steal_pointer(&path);
        file->attempt = attempt;
        file->fd = -1;
        g_ptr_array_add(stream->files, file);
        if (cursor_offset(stream->cursor, attempt, file->name, &file->offset) && file->offset > 0)
                return;
        file->shared = environment && !stream->members;
        if (file->shared)
                skip_earlier_builds(stream, file, job);
        if (stream->tail < 0 || file->offset > 0)
                return;
        if (open_file(stream, file)) {
                struct stat st;

                if (fstat(file->fd, &st) == 0)
                        file->offset = tail_offset(file->fd, (guint64)st.st_size, stream->tail);
        }
}

/* Adds the files of attempts that have begun since the last look. */
static void add_attempts(LogStream *stream, const Job *job)
{
        if (!stream->with_environment && job->env_state != ENV_NONE) {
                add_file(stream, job, 0, environment_member, 0);
                stream->with_environment = true;
        }
        for (guint i = 0; i < stream->files->len; i++)
                if (((const LogFile *)stream->files->pdata[i])->shared)
                        skip_earlier_builds(stream, stream->files->pdata[i], job);
        while (stream->attempt < job->attempt) {
                stream->attempt++;
                for (int i = 0; i < job->spec->n_roles; i++)
                        for (int index = 0; index < job->spec->roles[i].replicas; index++)
                                add_file(stream, job, stream->attempt, job->spec->roles[i].name, index);
        }
}

/* Without the beginning of a character that goes on in the next piece. */
static gsize whole_characters(const char *text, gsize len)
{
        const char *last = g_utf8_find_prev_char(text, text + len);
        bool cut = last && g_utf8_get_char_validated(last, text + len - last) == (gunichar)-2;

        return cut && last > text ? (gsize)(last - text) : len;
}

/* How much of `text` to send: whole lines, or all of it when a line is longer than a piece or the member has
 * ended. */
static gsize whole_lines(const char *text, gsize len, bool flush)
{
        const char *newline = memrchr(text, '\n', len);

        if (newline)
                return (gsize)(newline - text) + 1;
        if (len == PIECE)
                return whole_characters(text, len);
        return flush ? len : 0;
}

static void send_event(const LogStream *stream, GString *out, const char *event, json_t *data)
{
        g_autofree char *text = json_format(data);
        g_autofree char *cursor = cursor_format(stream);

        sse_append(out, cursor, event, text);
        json_decref(data);
}

static void send_text(const LogStream *stream, const LogFile *file, GString *out, const char *text)
{
        send_event(stream, out, "log",
                   json_pack("{s:i, s:s, s:I, s:s}", "attempt", file->attempt, "member", file->name, "offset",
                             (json_int_t)file->offset, "text", text));
}

static void send_built(const LogStream *stream, LogFile *file, GString *out)
{
        g_autofree char *when = clock_format(file->built);
        g_autofree char *line = g_strdup_printf("ready, built %s\n", when);

        file->built = 0;
        send_text(stream, file, out, line);
}

/* Sends what one file has; true when there may be more. */
static bool send_piece(const LogStream *stream, LogFile *file, GString *out, bool flush)
{
        g_autofree char *buffer = NULL;
        g_autofree char *valid = NULL;
        ssize_t got;
        gsize len;

        if (file->shared || !open_file(stream, file))
                return false;
        if (file->built)
                send_built(stream, file, out);
        buffer = g_malloc(PIECE);
        got = pread(file->fd, buffer, PIECE, (off_t)file->offset);
        len = got > 0 ? whole_lines(buffer, (gsize)got, flush) : 0;
        if (len == 0)
                return false;
        file->offset += len;
        valid = g_utf8_make_valid(buffer, (gssize)len);
        send_text(stream, file, out, valid);
        return true;
}

/* An earlier attempt's file is left once all of it has been sent: the cursor has to stay short. The
 * environment's stays, or a cursor without it would repeat it. */
static bool send_pieces(LogStream *stream, GString *out, bool over)
{
        bool more = false;

        for (guint i = 0; i < stream->files->len; i++) {
                LogFile *file = stream->files->pdata[i];
                bool earlier = file->attempt < stream->attempt;

                if (send_piece(stream, file, out, over || earlier))
                        more = true;
                else if (earlier && file->attempt > 0)
                        g_ptr_array_remove_index(stream->files, i--);
        }
        return more;
}

static void send_state(LogStream *stream, const Job *job, GString *out)
{
        static const char *const environments[] = { "none", "building", "ready", "failed", "waiting" };
        g_autofree char *waiting = engine_explain(stream->api->engine, job);
        const char *reason = waiting ? waiting : job->reason ? job->reason : "";
        json_t *data =
                json_pack("{s:s, s:s, s:i, s:s}", "state", job_state_name(job->state), "reason", reason,
                          "attempt", job->attempt, "environment", environments[job->env_state]);
        g_autofree char *text = json_format(data);

        stream->revision = job->revision;
        if (g_strcmp0(text, stream->state_sent) == 0) {
                json_decref(data);
                return;
        }
        g_free(stream->state_sent);
        stream->state_sent = g_steal_pointer(&text);
        send_event(stream, out, "state", data);
}

static StreamState log_stream_pull(GString *out, void *arg)
{
        LogStream *stream = arg;
        g_autoptr(GError) error = NULL;
        g_autoptr(Job) job = engine_find(stream->api->engine, stream->user, stream->job_id, &error);
        bool over;

        if (!job) {
                g_autoptr(json_t) body = json_from_error(error, NULL);
                g_autofree char *text = json_format(body);

                sse_append(out, NULL, "error", text);
                return STREAM_END;
        }
        over = !stream->follow || job_state_is_final(job->state);
        add_attempts(stream, job);
        stream->tail = -1; /* of what was there at first; what comes later is sent whole */
        if (job->revision != stream->revision || job->state == JOB_QUEUED)
                send_state(stream, job, out);
        if (send_pieces(stream, out, over))
                return STREAM_MORE;
        if (!over)
                return STREAM_WAIT;
        send_event(stream, out, "end",
                   json_pack("{s:s, s:s}", "state", job_state_name(job->state), "reason",
                             job->reason ? job->reason : ""));
        return STREAM_END;
}

static bool query_members(HttpRequest *request, const Job *job, char ***ret)
{
        const char *text = http_request_query(request, "member");
        g_auto(GStrv) members = text ? g_strsplit(text, ",", SPEC_REPLICAS_MAX) : NULL;
        g_autoptr(GError) error = NULL;
        const char *role;
        int index;

        for (char **member = members; member && *member; member++) {
                if (member_find(job, *member, &role, &index))
                        continue;
                unknown_member(job, *member, &error);
                http_fail(request, error);
                return false;
        }
        *ret = g_steal_pointer(&members);
        return true;
}

bool api_query_follow(HttpRequest *request, bool *ret)
{
        const char *text = http_request_query(request, "follow");
        g_autoptr(GError) error = NULL;

        *ret = true;
        if (!text || boolean_parse("follow", text, ret, &error))
                return true;
        http_fail(request, error);
        return false;
}

/* A cursor is empty or ATTEMPT.MEMBER:OFFSET,...; which members it names is not looked at. */
static bool query_cursor(HttpRequest *request, const char **ret)
{
        const char *cursor = http_request_query(request, "cursor");
        g_auto(GStrv) parts = g_strsplit(cursor ? cursor : "", ",", -1);
        g_autoptr(GError) error = NULL;

        for (char **part = parts; *part && !error; part++) {
                const char *dot = strchr(*part, '.'), *colon = dot ? strchr(dot, ':') : NULL;
                g_autofree char *attempt = dot ? g_strndup(*part, (gsize)(dot - *part)) : NULL;
                gint64 number;

                if (!colon || !number_parse("attempt", attempt, 0, G_MAXINT, &number, NULL) ||
                    !number_parse("offset", colon + 1, 0, G_MAXINT64, &number, NULL))
                        err_set(&error, ERR_INVALID,
                                "cursor: '%.80s' is not ATTEMPT.MEMBER:OFFSET as the stream's ids have it",
                                *part);
        }
        if (error) {
                http_fail(request, error);
                return false;
        }
        *ret = cursor ? cursor : http_request_header(request, "Last-Event-ID");
        return true;
}

/* The attempt before the first to be sent: the newest but one; of a cursor the first that it names, and all
 * when it is from before the first. */
static int first_attempt(const Job *job, const char *cursor, gint64 asked)
{
        gint64 first = asked ? asked : job->attempt, named = 0;
        g_auto(GStrv) parts = g_strsplit(cursor ? cursor : "", ",", -1);

        for (char **part = parts; *part; part++) {
                g_autofree char *number = g_strndup(*part, strcspn(*part, "."));
                gint64 attempt;

                if (number_parse("cursor", number, 1, job->attempt, &attempt, NULL))
                        named = named ? MIN(named, attempt) : attempt;
        }
        if (parts[0])
                first = named;
        return (int)MAX(first - 1, 0);
}

static void stream_logs(HttpRequest *request, void *arg)
{
        Api *api = arg;
        g_autoptr(Job) job = api_job(api, request);
        const char *cursor;
        char **members = NULL;
        gint64 attempt, tail;
        LogStream *stream;
        bool follow;

        if (!job || !query_attempt(request, job, &attempt) || !api_query_follow(request, &follow) ||
            !http_request_query_int(request, "tail", 0, TAIL_MAX, -1, &tail) ||
            !query_cursor(request, &cursor) || !query_members(request, job, &members) ||
            (!members && answer_gone(api, request, job)))
                return;
        stream = g_new0(LogStream, 1);
        *stream = (LogStream){
                .api = api,
                .job_id = g_strdup(job->id),
                .user = g_strdup(job->user),
                .members = members,
                .cursor = g_strdup(cursor),
                .files = g_ptr_array_new_with_free_func((GDestroyNotify)log_file_free),
                .attempt = first_attempt(job, cursor, attempt),
                .tail = tail,
                .revision = -1,
                .follow = follow,
        };
        stream->live = live_stream_new(api, log_stream_pull, log_stream_close, stream);
        live_stream_start(stream->live, request);
}

#define QUERY_USER "user:string:Whose job a name means (administrators)."

const HttpRoute log_routes[] = {
        { "GET", "/v1/jobs/{job}/logs", ACCESS_LOG, VERB_SHOW, HTTP_BODY_NONE, 0, stream_logs,
          "Follow the logs of all members as server-sent events until the job ends; resumes with cursor or "
          "Last-Event-ID.",
          QUERY_USER ";follow:boolean:Wait for more until the job ends, true when absent.;tail:integer:Begin "
                     "with so many last lines of "
                     "each member.;member:string:Only these members, separated by "
                     "commas.;attempt:integer:Begin with this attempt.;"
                     "cursor:string:Where an earlier stream ended.",
          NULL, "LogEvent", 0, "text/event-stream" },
        { "GET", "/v1/jobs/{job}/logs/{member}", ACCESS_LOG, VERB_SHOW, HTTP_BODY_NONE, 0, get_log,
          "The log of one member; takes Range.",
          QUERY_USER
          ";attempt:integer:Which attempt, the newest when absent.;tail:integer:Only this many last lines.",
          NULL, NULL, 0, "text/plain; charset=utf-8" },
        { 0 },
};
