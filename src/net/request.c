/* A request as its handler sees it, and the ways to answer it; see server.h for the contract and request.h
 * for the counts and the lock. */
#include "net/request.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/number.h"
#include "net/websocket-loop.h"

static guint64 id_counter; /* makes ids differ; where it starts is random, so that they differ between
                             processes, too */

/* A short id for people to quote: 60 bits of a mixed counter (splitmix64), which costs no system call. */
static void make_id(char ret[REQUEST_ID_LEN + 1])
{
        static const char alphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";
        static gsize seeded;

        if (g_once_init_enter(&seeded)) {
                __atomic_store_n(&id_counter, ((guint64)g_random_int() << 32) ^ (guint64)g_get_real_time(),
                                 __ATOMIC_RELAXED);
                g_once_init_leave(&seeded, 1);
        }
        guint64 x = __atomic_add_fetch(&id_counter, 1, __ATOMIC_RELAXED) * 0x9e3779b97f4a7c15u;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
        x ^= x >> 31;
        for (int i = 0; i < REQUEST_ID_LEN; i++, x >>= 5)
                ret[i] = alphabet[x & 31];
        ret[REQUEST_ID_LEN] = '\0';
}

HttpRequest *request_new(HttpServer *server, const RequestOps *ops, const char *target)
{
        HttpRequest *request = g_new0(HttpRequest, 1);

        request->refs = 1;
        request->server = server;
        request->ops = ops;
        request->target = g_strdup(target);
        request->reply.fd = request->held.fd = request->body_fd = -1;
        request->started_us = g_get_monotonic_time();
        pthread_mutex_init(&request->mutex, NULL);
        make_id(request->id);
        return request;
}

void reply_write(Reply *reply)
{
        if (!reply->write)
                return;
        reply->body = reply->write(reply->write_arg, &reply->len);
        reply->write_free(reply->write_arg);
        reply->write = NULL;
}

void reply_clear(Reply *reply)
{
        if (reply->write)
                reply->write_free(reply->write_arg);
        g_free(reply->type);
        g_free(reply->body);
        if (reply->fd >= 0)
                close(reply->fd);
        stream_free(reply->stream);
        if (reply->socket)
                websocket_abandon(reply->socket);
        if (reply->headers)
                g_ptr_array_unref(reply->headers);
        *reply = (Reply){ .fd = -1 };
}

/* Returns the bytes that the body held of its user's quota. */
static void release_held(HttpRequest *request)
{
        if (request->held_bytes > 0)
                request->release(request->user, request->held_bytes, 1, request->hold_arg);
        request->held_bytes = 0;
}

static void request_free(HttpRequest *request)
{
        reply_clear(&request->reply);
        release_held(request);
        reply_clear(&request->held);
        g_free(request->notes.user);
        g_free(request->notes.subject);
        g_free(request->notes.owner);
        pthread_mutex_destroy(&request->mutex);
        g_free(request->target);
        url_path_clear(&request->path);
        if (request->query)
                g_array_unref(request->query);
        for (guint i = 0; i < ROUTE_PARAMS_MAX; i++)
                g_free(request->params[i]);
        g_free(request->user);
        g_free(request->credential);
        g_free(request->by_certificate);
        g_free(request->right.queue);
        g_free(request->right.token);
        if (request->body)
                g_string_free(request->body, TRUE);
        g_free(request->body_file);
        if (request->body_fd >= 0)
                close(request->body_fd);
        if (request->kept)
                g_ptr_array_unref(request->kept);
        g_free(request);
}

void request_ref_memory(HttpRequest *request)
{
        g_atomic_int_inc(&request->refs);
}

void request_unref_memory(HttpRequest *request)
{
        if (g_atomic_int_dec_and_test(&request->refs))
                request_free(request);
}

HttpRequest *http_request_ref(HttpRequest *request)
{
        g_atomic_int_inc(&request->users);
        request_ref_memory(request);
        return request;
}

static bool is_answered(HttpRequest *request)
{
        pthread_mutex_lock(&request->mutex);
        bool answered = request->answered || request->recording;
        pthread_mutex_unlock(&request->mutex);
        return answered;
}

void http_request_unref(HttpRequest *request)
{
        if (!request)
                return;
        if (g_atomic_int_dec_and_test(&request->users) && !is_answered(request)) {
                g_autoptr(GError) error = NULL;

                err_set(&error, ERR_FAILED, "the request was given up without an answer");
                http_fail(request, error);
        }
        request_unref_memory(request);
}

const HttpCaller *http_request_caller(const HttpRequest *request)
{
        return &request->caller;
}

const char *http_request_id(const HttpRequest *request)
{
        return request->id;
}

const char *http_request_path(const HttpRequest *request)
{
        return request->path.text ? request->path.text->str : "";
}

const HttpCertificate *http_request_certificate(const HttpRequest *request)
{
        return request->certificate.name || request->certificate.error ? &request->certificate : NULL;
}

const HttpRoute *http_request_route(const HttpRequest *request)
{
        return request->entry ? request->entry->route : NULL;
}

const char *http_request_param(const HttpRequest *request, const char *name)
{
        gsize len = strlen(name);

        for (guint i = 0; request->entry && i < request->entry->n_params; i++) {
                const RouteParam *param = &request->entry->params[i];

                if (param->name_len == len && memcmp(param->name, name, len) == 0)
                        return request->params[i];
        }
        return NULL;
}

const char *http_request_query(const HttpRequest *request, const char *name)
{
        return url_query_get(request->query, name);
}

char **http_request_queries(const HttpRequest *request, const char *name)
{
        g_autoptr(GStrvBuilder) values = g_strv_builder_new();
        bool any = false;

        for (guint i = 0; request->query && i < request->query->len; i++) {
                const UrlPair *pair = &g_array_index(request->query, UrlPair, i);

                if (strcmp(pair->name, name) != 0)
                        continue;
                g_strv_builder_add(values, pair->value);
                any = true;
        }
        return any ? g_strv_builder_end(values) : NULL;
}

const char *http_request_header(const HttpRequest *request, const char *name)
{
        HttpRequest *self = (HttpRequest *)request; /* the copy handed out is kept in it */
        char *copy = NULL;

        pthread_mutex_lock(&self->mutex);
        const char *value = self->connection ? self->ops->header(self, name) : NULL;
        if (value) {
                copy = g_strdup(value);
                if (!self->kept)
                        self->kept = g_ptr_array_new_with_free_func(g_free);
                g_ptr_array_add(self->kept, copy);
        }
        pthread_mutex_unlock(&self->mutex);
        return copy;
}

const char *http_request_body(const HttpRequest *request, gsize *ret_len)
{
        if (ret_len)
                *ret_len = request->body ? request->body->len : 0;
        return request->body ? request->body->str : "";
}

const char *http_request_body_file(const HttpRequest *request)
{
        return request->body_file;
}

json_t *http_request_json(const HttpRequest *request, GError **error)
{
        gsize len;
        const char *body = http_request_body(request, &len);
        g_autoptr(json_t) value = NULL;

        if (len == 0) {
                err_set(error, ERR_INVALID, "the body is empty: a JSON object is expected");
                return NULL;
        }
        value = json_parse(body, len, error);
        if (value && !json_is_object(value)) {
                err_set(error, ERR_INVALID, "the body is not a JSON object");
                return NULL;
        }
        return g_steal_pointer(&value);
}

bool http_request_query_int(HttpRequest *request, const char *name, gint64 min, gint64 max, gint64 fallback,
                            gint64 *ret)
{
        const char *text = http_request_query(request, name);
        g_autoptr(GError) error = NULL;

        *ret = fallback;
        if (!text || number_parse(name, text, min, max, ret, &error))
                return true;
        http_fail(request, error);
        return false;
}

/* Hands the reply over, headers given before included, unless there was one: the only writer of `answered`.
 * Called with the mutex held. */
static bool answer_locked(HttpRequest *request, Reply *reply)
{
        if (request->answered)
                return false;
        release_held(request); /* before the client sees the answer and sends the next one */
        reply->headers = g_steal_pointer(&request->reply.headers);
        request->reply = *reply;
        request->answered = true;
        if (request->suspended) {
                request->suspended = false;
                request->ops->resume(request);
        }
        return true;
}

/* Sends the held reply. Called with the mutex held. */
static void release_locked(HttpRequest *request)
{
        Reply held = request->held;

        request->recording = false;
        request->held = (Reply){ .fd = -1 };
        if (!answer_locked(request, &held))
                reply_clear(&held);
}

/* Takes the reference. */
static void on_recorded(void *arg)
{
        HttpRequest *request = arg;

        pthread_mutex_lock(&request->mutex);
        if (request->recording)
                release_locked(request);
        pthread_mutex_unlock(&request->mutex);
        http_request_unref(request);
}

/* The answer of a handler may wait for its record; another, when the server stops meanwhile, makes it go. */
static void answer(HttpRequest *request, Reply *reply)
{
        int status = reply->status;

        pthread_mutex_lock(&request->mutex);
        bool stops = !request->answered && request->ops->is_stopping(request);
        bool second = request->answered || request->recording;
        bool may_wait = !second && !stops && request->stage == STAGE_WAIT;
        if (may_wait) {
                request->held = *reply;
                request->recording = true;
        } else if (request->recording && stops) {
                release_locked(request);
        }
        pthread_mutex_unlock(&request->mutex);
        if (second) {
                reply_clear(reply);
        } else if (may_wait) {
                http_request_ref(request);
                if (!request->ops->record(request, status, on_recorded, request))
                        on_recorded(request);
        } else {
                (void)request->ops->record(request, status, NULL, NULL);
                pthread_mutex_lock(&request->mutex);
                bool done = answer_locked(request, reply);
                pthread_mutex_unlock(&request->mutex);
                if (!done)
                        reply_clear(reply);
        }
}

void http_request_set_user(HttpRequest *request, const char *user)
{
        pthread_mutex_lock(&request->mutex);
        g_free(request->notes.user);
        request->notes.user = g_strdup(user);
        pthread_mutex_unlock(&request->mutex);
}

void http_request_set_subject(HttpRequest *request, const char *subject)
{
        pthread_mutex_lock(&request->mutex);
        g_free(request->notes.subject);
        request->notes.subject = g_strdup(subject);
        pthread_mutex_unlock(&request->mutex);
}

void http_request_set_owner(HttpRequest *request, const char *user)
{
        pthread_mutex_lock(&request->mutex);
        g_free(request->notes.owner);
        request->notes.owner = g_strdup(user);
        pthread_mutex_unlock(&request->mutex);
}

void http_request_set_denied(HttpRequest *request)
{
        pthread_mutex_lock(&request->mutex);
        request->notes.denied = true;
        pthread_mutex_unlock(&request->mutex);
}

HttpNotes http_request_notes(const HttpRequest *request)
{
        HttpRequest *self = (HttpRequest *)request;

        pthread_mutex_lock(&self->mutex);
        HttpNotes notes = { g_strdup(request->notes.user), g_strdup(request->notes.subject),
                            g_strdup(request->notes.owner), request->notes.denied };
        pthread_mutex_unlock(&self->mutex);
        return notes;
}

void http_reply_take(HttpRequest *request, int status, const char *type, char *body, gsize len)
{
        Reply reply = { .status = status, .type = g_strdup(type), .body = body, .len = len, .fd = -1 };

        answer(request, &reply);
}

void http_reply_written(HttpRequest *request, int status, const char *type, HttpWrite write, void *arg,
                        GDestroyNotify free_arg)
{
        Reply reply = { .status = status,
                        .type = g_strdup(type),
                        .fd = -1,
                        .write = write,
                        .write_arg = arg,
                        .write_free = free_arg };

        answer(request, &reply);
}

void http_reply(HttpRequest *request, int status, const char *type, const char *body, gsize len)
{
        http_reply_take(request, status, type, len ? g_memdup2(body, len) : NULL, len);
}

void http_reply_json(HttpRequest *request, int status, const json_t *value)
{
        char *text = json_format(value);

        http_reply_take(request, status, "application/json", text, strlen(text));
}

void http_reply_header(HttpRequest *request, const char *name, const char *value)
{
        pthread_mutex_lock(&request->mutex);
        if (!request->answered) {
                if (!request->reply.headers)
                        request->reply.headers = g_ptr_array_new_with_free_func(g_free);
                g_ptr_array_add(request->reply.headers, g_strdup(name));
                g_ptr_array_add(request->reply.headers, g_strdelimit(g_strdup(value), "\r\n", ' '));
        }
        pthread_mutex_unlock(&request->mutex);
}

/* Before the reply. */
static bool has_reply_header(const HttpRequest *request, const char *name)
{
        const GPtrArray *headers = request->reply.headers;

        for (guint i = 0; headers && i < headers->len; i += 2)
                if (g_ascii_strcasecmp(headers->pdata[i], name) == 0)
                        return true;
        return false;
}

/* What a client needs beside some statuses, unless the handler knows better. A 429 gets Retry-After only when
 * its error knows the wait: most are a full quota, which waiting does not change, and a client repeats what
 * comes with that header. */
static const struct {
        int status;
        const char *name, *value;
} fail_headers[] = {
        { 401, "WWW-Authenticate", "Bearer" },
        { 503, "Retry-After", "1" },
};

static void fail_plainly(HttpRequest *request, const GError *error)
{
        g_autoptr(json_t) body = json_from_error(error, request->id);
        int status = err_row(error)->http;

        for (gsize i = 0; i < G_N_ELEMENTS(fail_headers); i++)
                if (fail_headers[i].status == status && !has_reply_header(request, fail_headers[i].name))
                        http_reply_header(request, fail_headers[i].name, fail_headers[i].value);
        http_reply_json(request, status, body);
}

void http_fail(HttpRequest *request, const GError *error)
{
        g_autofree char *wait = g_strdup_printf("%" G_GINT64_FORMAT, err_wait_s(error));

        if (err_wait_s(error) > 0 && !has_reply_header(request, "Retry-After"))
                http_reply_header(request, "Retry-After", wait);
        if (request->face)
                request->face->face.fail(request, error, request->face->face.arg);
        else
                fail_plainly(request, error);
}

typedef enum { RANGE_NONE, RANGE_PART, RANGE_OUTSIDE } RangeKind;

static bool parse_position(const char *text, gsize len, guint64 *ret)
{
        g_autofree char *copy = g_strndup(text, len);

        return len > 0 && len < 20 && g_ascii_string_to_unsigned(copy, 10, 0, G_MAXINT64, ret, NULL);
}

/* RFC 9110, section 14: one range of bytes. A malformed header, or one with several ranges, is ignored. */
static RangeKind parse_range(const char *text, guint64 size, guint64 *ret_at, guint64 *ret_len)
{
        guint64 first = 0, last = G_MAXINT64;

        if (!text || g_ascii_strncasecmp(text, "bytes=", 6) != 0)
                return RANGE_NONE;
        text += 6;
        gsize left = strcspn(text, "-"), right = text[left] ? strlen(text + left + 1) : 0;
        if (!text[left] || left + right == 0 || (left && !parse_position(text, left, &first)) ||
            (right && !parse_position(text + left + 1, right, &last)) || (left && last < first))
                return RANGE_NONE;
        if (left == 0) {
                if (last == 0 || size == 0)
                        return RANGE_OUTSIDE;
                first = last < size ? size - last : 0;
                last = G_MAXINT64;
        }
        if (first >= size)
                return RANGE_OUTSIDE;
        *ret_at = first;
        *ret_len = MIN(last, size - 1) - first + 1;
        return RANGE_PART;
}

static void set_content_range(HttpRequest *request, const char *part, guint64 size)
{
        g_autofree char *value = g_strdup_printf("bytes %s/%" G_GUINT64_FORMAT, part, size);

        http_reply_header(request, "Content-Range", value);
}

/* Narrows the reply to what a Range header asks for; false when that lies outside of the file (and 416 was
 * sent). */
static bool apply_range(HttpRequest *request, Reply *reply)
{
        /* If-Range names a version, and we give none out: then the whole file is the answer. */
        const char *text =
                http_request_header(request, "If-Range") ? NULL : http_request_header(request, "Range");
        guint64 size = reply->size, at, len;

        http_reply_header(request, "Accept-Ranges", "bytes");
        switch (parse_range(text, size, &at, &len)) {
        case RANGE_NONE: return true;
        case RANGE_OUTSIDE: {
                set_content_range(request, "*", size);
                g_autofree char *says = g_strdup_printf(
                        "{\"code\":\"invalid\",\"message\":\"the range lies outside of the %" G_GUINT64_FORMAT
                        " bytes\",\"hint\":\"\",\"request_id\":\"%s\"}",
                        size, request->id);
                http_reply(request, 416, "application/json", says, strlen(says));
                return false;
        }
        case RANGE_PART: break;
        }
        g_autofree char *part = g_strdup_printf("%" G_GUINT64_FORMAT "-%" G_GUINT64_FORMAT, at, at + len - 1);
        set_content_range(request, part, size);
        reply->status = 206;
        reply->offset += at;
        reply->size = len;
        return true;
}

void http_reply_file(HttpRequest *request, const char *path, int fd, guint64 offset, guint64 len,
                     const char *type)
{
        Reply reply = { .kind = REPLY_FILE, .status = 200, .fd = fd, .offset = offset, .size = len };

        if (fd < 0)
                reply.fd = open(path, O_RDONLY | O_CLOEXEC);
        if (reply.fd < 0) {
                g_autoptr(GError) error = NULL;

                err_set_errno(&error, errno, "cannot open '%s'", path);
                http_fail(request, error);
                return;
        }
        if (!apply_range(request, &reply)) {
                reply_clear(&reply);
                return;
        }
        reply.type = g_strdup(type ? type : "application/octet-stream");
        answer(request, &reply);
}

HttpStreamHandle *http_stream(HttpRequest *request, const HttpStream *stream)
{
        HttpStreamHandle *handle = stream_new(stream, request->caller.user, request->credential);
        Reply reply = { .kind = REPLY_STREAM,
                        .status = 200,
                        .type = g_strdup(stream->type),
                        .fd = -1,
                        .stream = handle };
        g_autoptr(GError) error = NULL;

        pthread_mutex_lock(&request->mutex);
        bool done = !request->answered && request->ops->admit(request, handle, &error) &&
                    answer_locked(request, &reply);
        pthread_mutex_unlock(&request->mutex);
        if (done) {
                (void)request->ops->record(request, 200, NULL, NULL);
                return handle;
        }
        if (error)
                http_fail(request, error);
        reply_clear(&reply);
        return NULL;
}

bool request_upgrade(HttpRequest *request, WebSocket *socket)
{
        Reply reply = { .kind = REPLY_UPGRADE, .status = 101, .fd = -1, .socket = websocket_ref(socket) };
        g_autoptr(GError) error = NULL;

        pthread_mutex_lock(&request->mutex);
        bool done = !request->answered && request->ops->admit_socket(request, socket, &error) &&
                    answer_locked(request, &reply);
        pthread_mutex_unlock(&request->mutex);
        if (done) {
                (void)request->ops->record(request, 101, NULL, NULL);
                return true;
        }
        if (error)
                http_fail(request, error);
        reply_clear(&reply);
        return false;
}
