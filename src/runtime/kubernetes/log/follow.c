/* Logs of pods (see follow.h).
 *
 *     NEW ─────(a place)────▶ OPEN ◀───(a place, few a second)─── AGAIN
 *     LEAVING ─(a place)──────┘││└─────(silent, others wait)──────▶ ▲
 *     LAST ────(a place)───────┘└──(broken off)──▶ RESTING ─────────┘
 *      ▲
 *      ├─(its container has ended)── NEW, AGAIN, RESTING, LEAVING
 *      └─(broken off or refused, after its container has ended)── RESTING
 *     LEAVING: the same, of one that is about to be stopped
 *
 * The server sends what it has of a log from its beginning; where that goes on in the file the times of its
 * lines say (timed-log.h). A file is open while its stream is. */
#include "runtime/kubernetes/log/follow.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/backoff.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log-times.h"
#include "base/log.h"
#include "base/number.h"
#include "base/timer.h"
#include "podspec/pod-log.h"
#include "runtime/kubernetes/log/timed-log.h"

enum {
        STREAMS = 1000,
        OPENING = 16, /* requests for streams in flight: writes wait in the same queue */
        SPARE = 64,   /* further streams for stopped members; and as many for ended containers */
        AGAIN_MS = 500,
        AGAIN_MAX_MS = 30000,
        REFUSED_MAX_MS = 300000, /* the node has no answer, or the account no right */
        LAST_MS = 10000,         /* for the rest of a log, after its container has ended */
        LEAVING_MS = 10000,      /* for the stream of a container that is about to be stopped */
        ANSWER_MS = 2000,        /* without a reply after this time, the container counts as silent */
        TICK_MS = 200,
        EACH_TICK = 5, /* streams that are opened again */
        SILENT_US = 10 * G_USEC_PER_SEC,
        NOTE_US = G_USEC_PER_SEC, /* time between two notes of the position in a log */
        NS_A_MS = 1000000,
};

typedef enum {
        FOLLOW_LAST,
        FOLLOW_LEAVING,
        FOLLOW_NEW,
        FOLLOW_AGAIN,
        FOLLOW_OPEN,
        FOLLOW_RESTING,
        FOLLOW_STATES
} FollowState;

struct FollowRoom {
        KubeClient *client;
        GMainContext *context;
        guint places;
        guint opening;            /* open streams without a reply yet */
        GQueue in[FOLLOW_STATES]; /* Follow; the one that has waited longest is the head */
        Timer *tick;              /* while a follow waits */
};

struct Follow {
        FollowRoom *room;
        FollowConfig config; /* its texts are ours */
        FollowState state;
        GList link; /* in the queue of its state */
        char *url;
        int fd;
        gint64 size;   /* of the file */
        gint64 before; /* the part of the file that earlier pods wrote; -1: not read yet */
        TimedLog log;
        LogPlace noted;
        gint64 noted_us, heard_us;
        GArray *times;   /* LogTime: times of appended lines that are not stored yet */
        LogTime time;    /* of the lines since the last of them; size: where they begin */
        gint64 time_gap; /* ms, between two of them */
        guint failures;  /* in a row */
        bool opening;
        KubeCall *call;
        Timer *again, *deadline, *answer, *patience;
        bool unwritable; /* which was said */
        bool full;       /* the disk is */
        bool last, leaving;
        bool flows; /* which was told */
};

/* ---- into the file ---- */

static bool open_file(const char *path, int *ret_fd, gint64 *ret_size, GError **error)
{
        g_autofree char *dir = g_path_get_dirname(path);
        struct stat st = { 0 };

        if (!file_mkdirs(dir, 0755, error))
                return false;
        *ret_fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
        if (*ret_fd < 0 || fstat(*ret_fd, &st) < 0)
                return err_set_errno(error, errno, "cannot open it");
        *ret_size = st.st_size;
        return true;
}

/* ---- the note beside it: UID START [FIRST_NS FIRST_AT LAST_NS LAST_AT] ---- */

enum { NOTE_MAX = 256, NOTE_WORDS = 2, NOTE_WORDS_OF_PLACE = 6 };

static char *note_path(const char *log)
{
        return g_strconcat(log, ".pod", NULL);
}

/* All notes have the same length, so that a new one overwrites the old one completely. */
static char *format_note(const char *uid, gint64 start, const LogPlace *place)
{
        return g_strdup_printf("%s %019" G_GINT64_FORMAT "\n%019" G_GINT64_FORMAT " %019" G_GINT64_FORMAT
                               " %019" G_GINT64_FORMAT " %019" G_GINT64_FORMAT "\n",
                               uid, start, place->first_ns, place->first_at, place->last_ns, place->last_at);
}

/* A file that is shorter than its note has lost its end in a crash of the machine: then nothing is known. */
static void parse_place(char **words, gint64 size, LogPlace *ret)
{
        LogPlace place;

        if (g_strv_length(words) == NOTE_WORDS_OF_PLACE &&
            number_parse("first", words[2], 0, G_MAXINT64, &place.first_ns, NULL) &&
            number_parse("first", words[3], 0, size, &place.first_at, NULL) &&
            number_parse("last", words[4], 0, G_MAXINT64, &place.last_ns, NULL) &&
            number_parse("last", words[5], 0, size, &place.last_at, NULL))
                *ret = place;
}

/* The place of the pod in the file, and the position in its log, if they are known. Without a note the file
 * is of a single pod. */
static bool read_note(const char *path, const char *uid, gint64 size, gint64 *ret, LogPlace *ret_place)
{
        g_autofree char *text = NULL;
        g_auto(GStrv) words = NULL;
        gint64 start = 0;
        gsize len;

        if (!file_read(path, NOTE_MAX, &text, &len, NULL)) {
                *ret = 0;
                return size > 0;
        }
        words = g_strsplit_set(g_strchomp(text), " \n", -1);
        if (g_strv_length(words) < NOTE_WORDS || strcmp(words[0], uid) != 0 ||
            !number_parse("start", words[1], 0, size, &start, NULL))
                return false;
        parse_place(words, size, ret_place);
        *ret = start;
        return true;
}

/* The file has nothing of the pod yet. */
static void begin_note(Follow *follow)
{
        const LogPlace nowhere = { 0 };
        g_autofree char *path = note_path(follow->config.path);
        g_autofree char *text = format_note(follow->config.uid, follow->size, &nowhere);
        g_autoptr(GError) error = NULL;

        follow->before = follow->size;
        if (!file_replace(path, text, strlen(text), 0644, false, &error))
                log_warning("the place of a pod's log in its file cannot be stored: a restart may write "
                            "the log twice",
                            "file", path, "reason", error->message, NULL);
}

static void look_at_note(Follow *follow)
{
        g_autofree char *path = note_path(follow->config.path);

        if (!follow->config.uid)
                follow->before = 0;
        else if (!read_note(path, follow->config.uid, follow->size, &follow->before, &follow->log.place))
                begin_note(follow);
}

/* An older note is good enough unless the log is rotated before the next one, so a note may be late or fail.
 * It is written in place, because a file system writes renamed files to the disk at once. */
static void note_place(Follow *follow)
{
        g_autofree char *path = NULL, *text = NULL;
        fd_auto int fd = -1;

        follow->noted_us = g_get_monotonic_time();
        if (!follow->config.uid || memcmp(&follow->noted, &follow->log.place, sizeof follow->noted) == 0)
                return;
        follow->noted = follow->log.place;
        path = note_path(follow->config.path);
        text = format_note(follow->config.uid, follow->before, &follow->noted);
        fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
        if (fd >= 0)
                (void)file_write_all(fd, text, strlen(text), NULL);
}

/* ---- what is written ---- */

static bool write_out(Follow *follow, const char *data, gsize len, GError **error)
{
        gint64 room = follow->config.limit > 0 ? MAX(follow->config.limit - follow->size, 0) : G_MAXINT64;
        gsize part = (gsize)MIN((gint64)len, room);

        follow->size += (gint64)len;
        return part == 0 || file_write_all(follow->fd, data, part, error);
}

/* ---- when lines were written (base/log-times.h) ---- */

/* Records the time of the lines up to `size`. A file that is cut off at its limit gets no record: it would cover more
 * than the file has. */
static void keep_time(Follow *follow, gint64 size)
{
        LogTime record = { .time_ms = follow->time.time_ms, .size = size };

        if (follow->time.time_ms && size > follow->time.size &&
            (!follow->config.limit || size <= follow->config.limit))
                g_array_append_val(follow->times, record);
        follow->time.size = size;
}

/* A line of this time begins where the file will have `size` bytes. */
static void begin_time(Follow *follow, gint64 ms, gint64 size)
{
        if (ms - follow->time.time_ms < follow->time_gap && ms >= follow->time.time_ms)
                return;
        keep_time(follow, size);
        follow->time.time_ms = ms;
}

/* Best effort: without them lines are as old as the log's mtime. */
static void note_times(Follow *follow)
{
        g_autofree char *path = g_strconcat(follow->config.path, LOG_TIMES_SUFFIX, NULL);
        fd_auto int fd = -1;
        struct stat st;

        if (follow->times->len == 0)
                return;
        fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
        if (fd >= 0 && file_write_all(fd, follow->times->data, follow->times->len * sizeof(LogTime), NULL) &&
            fstat(fd, &st) == 0)
                follow->time_gap = log_times_gap_ms((gint64)((gsize)st.st_size / sizeof(LogTime)));
        g_array_set_size(follow->times, 0);
}

/* ---- the stream ---- */

static void pump(FollowRoom *room);

static void move(Follow *follow, FollowState to)
{
        GQueue *in = follow->room->in;

        g_queue_unlink(&in[follow->state], &follow->link);
        follow->state = to;
        g_queue_push_tail_link(&in[to], &follow->link);
}

static void answered(Follow *follow)
{
        timer_clear(&follow->answer);
        follow->room->opening -= follow->opening;
        follow->opening = false;
}

/* Called also if no output will come: the end of the container need not be delayed any more. */
static void tell_flows(Follow *follow)
{
        timer_clear(&follow->patience);
        if (!follow->leaving || follow->flows)
                return;
        follow->flows = true;
        if (follow->config.flows)
                follow->config.flows(follow->config.arg);
}

/* A container without output counts as followed, so that it does not delay others. */
static void on_no_answer(void *arg)
{
        Follow *follow = arg;

        answered(follow);
        tell_flows(follow);
        pump(follow->room);
}

static FollowState turn_of(const Follow *follow)
{
        if (follow->last)
                return FOLLOW_LAST;
        return follow->leaving ? FOLLOW_LEAVING : FOLLOW_AGAIN;
}

static void close_stream(Follow *follow)
{
        answered(follow);
        if (follow->call)
                kube_call_cancel(g_steal_pointer(&follow->call));
        if (follow->fd < 0)
                return;
        keep_time(follow, follow->size);
        note_times(follow);
        note_place(follow);
        close(follow->fd);
        follow->fd = -1;
}

static void on_rested(void *arg)
{
        Follow *follow = arg;

        move(follow, turn_of(follow));
        pump(follow->room);
}

static void rest(Follow *follow, bool refused)
{
        gint64 most = refused ? REFUSED_MAX_MS : AGAIN_MAX_MS;
        gint64 wait_ms = backoff_delay(AGAIN_MS, most, follow->failures);

        follow->failures++;
        move(follow, FOLLOW_RESTING);
        timer_set(&follow->again, follow->room->context, wait_ms, on_rested, follow);
}

/* The next stream brings the lost part again, from the end of the file. */
static void put_off(Follow *follow, const GError *error)
{
        g_array_set_size(follow->times, 0);
        follow->time.time_ms = 0; /* the file does not have the line of this time */
        close_stream(follow);
        rest(follow, false);
        follow->full = err_is(error, ERR_NO_SPACE);
        if (!follow->unwritable)
                log_warning("a pod's log cannot be written, trying again", "file", follow->config.path,
                            "reason", error->message, NULL);
        follow->unwritable = true;
}

static void on_too_late(void *arg);

static void set_deadline(Follow *follow)
{
        timer_set(&follow->deadline, follow->room->context, LAST_MS, on_too_late, follow);
}

/* If the disk was full, the time for the end of the log begins now. */
static void note_written(Follow *follow)
{
        follow->heard_us = g_get_monotonic_time();
        follow->failures = 0;
        if (follow->full && follow->deadline)
                set_deadline(follow);
        follow->unwritable = follow->full = false;
}

static bool append(Follow *follow, const GString *text, const LogPlace *was)
{
        g_autoptr(GError) error = NULL;

        if (!write_out(follow, text->str, text->len, &error)) {
                follow->log.place = *was;
                put_off(follow, error);
                return false;
        }
        note_written(follow);
        if (follow->heard_us - follow->noted_us >= NOTE_US) {
                keep_time(follow, follow->size);
                note_times(follow);
                note_place(follow);
        }
        return true;
}

/* Line by line, since each may have another time. */
static void read_lines(Follow *follow, const char *data, gsize len, GString *text)
{
        const char *end = data + len;

        while (data < end) {
                const char *newline = memchr(data, '\n', (gsize)(end - data));
                const char *next = newline ? newline + 1 : end;
                gint64 size = follow->size + (gint64)text->len;

                timed_log_read(&follow->log, data, (gsize)(next - data), text);
                if (follow->size + (gint64)text->len > size)
                        begin_time(follow, follow->log.place.last_ns / NS_A_MS, size);
                data = next;
        }
}

static bool on_data(const char *data, gsize len, void *arg)
{
        Follow *follow = arg;
        g_autoptr(GString) text = g_string_new(NULL);
        LogPlace was = follow->log.place;

        if (follow->opening) {
                answered(follow);
                tell_flows(follow);
                pump(follow->room);
        }
        read_lines(follow, data, len, text);
        if (text->len == 0 || pod_log_is_farewell(text->str, text->len) || append(follow, text, &was))
                return true;
        pump(follow->room);
        return false;
}

static void tell_said(const Follow *follow)
{
        const char *said = follow->log.said;

        if (*said && !pod_log_is_farewell(said, strlen(said)))
                log_warning("a pod's log was broken off by its node", "pod", follow->config.pod, "reason",
                            said, NULL);
}

/* Writes a mark. All of the log that the node has follows it. */
static bool begin_anew(Follow *follow)
{
        g_autoptr(GString) gap = g_string_new(timed_log_gap);
        LogPlace was = follow->log.place;

        follow->log.place = (LogPlace){ 0 };
        if (!append(follow, gap, &was))
                return false;
        if (follow->config.uid)
                begin_note(follow);
        else
                follow->before = follow->size;
        return true;
}

/* There is no such log. A refusal for another reason may pass: an API server that has just started does not know
 * our rights yet. */
static bool is_missing(const KubeReply *reply)
{
        return reply->error && (reply->status == 400 || reply->status == 404);
}

static void on_end(const KubeReply *reply, void *arg)
{
        Follow *follow = arg;
        FollowRoom *room = follow->room;
        bool is_short = !reply->error && timed_log_is_short(&follow->log);

        follow->call = NULL;
        tell_said(follow);
        if (is_short && !begin_anew(follow)) {
                pump(room);
                return;
        }
        close_stream(follow);
        rest(follow, reply->error && reply->status >= 400);
        if (is_missing(reply))
                tell_flows(follow);
        if (follow->last && !is_short && (!reply->error || is_missing(reply)))
                follow->config.done(follow->config.arg);
        pump(room);
}

static void open_stream(Follow *follow)
{
        g_autoptr(GError) error = NULL;

        move(follow, FOLLOW_OPEN);
        if (!open_file(follow->config.path, &follow->fd, &follow->size, &error)) {
                put_off(follow, error);
                return;
        }
        follow->time = (LogTime){ .size = follow->size };
        if (follow->before < 0)
                look_at_note(follow);
        timed_log_begin(&follow->log, follow->before, follow->size);
        follow->heard_us = g_get_monotonic_time();
        follow->opening = true;
        follow->room->opening++;
        timer_set(&follow->answer, follow->room->context, ANSWER_MS, on_no_answer, follow);
        follow->call = kube_stream(follow->room->client, follow->url, 0, on_data, on_end, follow);
}

/* ---- turns ---- */

/* Opens the first follow in this state; false: there is none, or no place is free. */
static bool open_one(FollowRoom *room, FollowState state)
{
        guint places = room->places + (state == FOLLOW_LAST      ? 2 * SPARE
                                       : state == FOLLOW_LEAVING ? SPARE
                                                                 : 0);

        if (!room->in[state].length || room->in[FOLLOW_OPEN].length >= places || room->opening >= OPENING)
                return false;
        open_stream(g_queue_peek_head(&room->in[state]));
        return true;
}

/* A follow that has been silent for long gives its place to another one. */
static void ask_for_place(FollowRoom *room)
{
        Follow *follow = g_queue_peek_head(&room->in[FOLLOW_OPEN]);

        if (follow->last || follow->leaving || g_get_monotonic_time() - follow->heard_us < SILENT_US) {
                move(follow, FOLLOW_OPEN);
                return;
        }
        close_stream(follow);
        move(follow, FOLLOW_AGAIN);
}

static bool somebody_waits(const FollowRoom *room)
{
        return room->in[FOLLOW_LAST].length || room->in[FOLLOW_LEAVING].length ||
               room->in[FOLLOW_NEW].length || room->in[FOLLOW_AGAIN].length;
}

static void set_tick(FollowRoom *room);

static void on_tick(void *arg)
{
        FollowRoom *room = arg;

        for (int i = 0; i < EACH_TICK && somebody_waits(room); i++) {
                if (room->in[FOLLOW_OPEN].length >= room->places)
                        ask_for_place(room);
                pump(room);
                (void)open_one(room, FOLLOW_AGAIN);
        }
        if (somebody_waits(room))
                set_tick(room);
}

static void set_tick(FollowRoom *room)
{
        timer_set(&room->tick, room->context, TICK_MS, on_tick, room);
}

static void pump(FollowRoom *room)
{
        while (open_one(room, FOLLOW_LAST) || open_one(room, FOLLOW_LEAVING) || open_one(room, FOLLOW_NEW))
                ;
        if (somebody_waits(room) && !room->tick)
                set_tick(room);
}

FollowRoom *follow_room_new(KubeClient *client, GMainContext *context, guint streams)
{
        FollowRoom *room = g_new0(FollowRoom, 1);

        room->client = client;
        room->context = context;
        room->places = streams ? streams : STREAMS;
        return room;
}

void follow_room_free(FollowRoom *room)
{
        if (!room)
                return;
        timer_clear(&room->tick);
        g_free(room);
}

/* ---- one of them ---- */

/* If the disk is full, the end could not be recorded either. The pod has the log, and stays until then. */
static void on_too_late(void *arg)
{
        Follow *follow = arg;

        if (follow->full) {
                set_deadline(follow);
                return;
        }
        log_warning("the end of a pod's log did not come in time", "pod", follow->config.pod, NULL);
        follow->config.done(follow->config.arg);
}

static void on_impatient(void *arg)
{
        Follow *follow = arg;

        log_warning("a pod is stopped before its log could be followed: the end of it may be missing", "pod",
                    follow->config.pod, NULL);
        tell_flows(follow);
}

bool follow_leaving(Follow *follow)
{
        FollowRoom *room = follow->room;

        if (follow->last || follow->flows)
                return true;
        if (follow->leaving)
                return false;
        follow->leaving = true;
        follow->failures = 0;
        if (follow->state == FOLLOW_OPEN) {
                follow->flows = !follow->opening;
        } else {
                timer_clear(&follow->again);
                move(follow, FOLLOW_LEAVING);
                pump(room);
        }
        if (!follow->flows)
                timer_set(&follow->patience, room->context, LEAVING_MS, on_impatient, follow);
        return follow->flows;
}

void follow_last(Follow *follow)
{
        FollowRoom *room = follow->room;

        if (follow->last)
                return;
        follow->last = true;
        timer_clear(&follow->patience);
        follow->failures = 0;
        set_deadline(follow);
        if (follow->state == FOLLOW_OPEN)
                return;
        timer_clear(&follow->again);
        move(follow, FOLLOW_LAST);
        pump(room);
}

Follow *follow_new(FollowRoom *room, const FollowConfig *config)
{
        Follow *follow = g_new0(Follow, 1);
        g_autofree char *path = kube_path(&kube_pods, config->namespace, config->pod, "log");

        follow->room = room;
        follow->config = *config;
        follow->config.path = g_strdup(config->path);
        follow->config.pod = g_strdup(config->pod);
        follow->config.uid = g_strdup(config->uid);
        follow->config.namespace = follow->config.container = NULL;
        follow->before = -1;
        follow->times = g_array_new(FALSE, FALSE, sizeof(LogTime));
        follow->time_gap = LOG_TIMES_GAP_MS;
        follow->url = g_strdup_printf("%s?container=%s&timestamps=true&%s=true", path, config->container,
                                      config->previous ? "previous" : "follow");
        follow->fd = -1;
        follow->state = FOLLOW_NEW;
        follow->link.data = follow;
        g_queue_push_tail_link(&room->in[FOLLOW_NEW], &follow->link);
        pump(room);
        return follow;
}

void follow_free(Follow *follow)
{
        if (!follow)
                return;
        g_queue_unlink(&follow->room->in[follow->state], &follow->link);
        close_stream(follow);
        timer_clear(&follow->again);
        timer_clear(&follow->deadline);
        timer_clear(&follow->patience);
        g_array_free(follow->times, TRUE);
        g_free((char *)follow->config.path);
        g_free((char *)follow->config.pod);
        g_free((char *)follow->config.uid);
        g_free(follow->url);
        g_free(follow);
}

bool follow_is_of_another(const char *log, const char *uid)
{
        g_autofree char *path = note_path(log), *text = NULL;
        gsize len;

        return file_read(path, NOTE_MAX, &text, &len, NULL) && strchr(text, ' ') &&
               strncmp(text, uid, strlen(uid)) != 0;
}
