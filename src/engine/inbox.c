/* The engine's inbox (see inbox.h). A POSIX mutex and condition rather than GLib's, as the thread sanitizer
 * understands these. */
#include "engine/inbox.h"

#include <errno.h>

#include "base/cond.h"
#include "base/err.h"

Input *input_new(InputKind kind, EngineDone done, void *arg)
{
        Input *input = g_new0(Input, 1);

        input->kind = kind;
        input->done = done;
        input->arg = arg;
        return input;
}

void input_free(Input *input)
{
        if (!input)
                return;
        g_free(input->user);
        g_free(input->text);
        g_free(input->id);
        g_free(input->refusal);
        g_free(input->queue);
        g_strfreev(input->labels);
        g_strfreev(input->annotations);
        g_clear_pointer(&input->specs, g_ptr_array_unref);
        object_unref(input->object);
        token_free(input->token);
        runtime_ask_free(input->ask);
        observation_free(input->observation);
        g_clear_error(&input->error);
        g_clear_pointer(&input->job, job_unref);
        g_free(input);
}

void input_again(Input *input)
{
        g_clear_error(&input->error);
        g_clear_pointer(&input->job, job_unref);
        input->live = NULL;
        input->repeated = false;
}

void input_answer(Input *input, const GError *error)
{
        if (!error)
                error = input->error;
        if (input->cloned && error)
                input->cloned(NULL, 0, input->arg);
        if (input->done)
                input->done(error ? NULL : input->job, input->repeated, error, input->arg);
        input_free(input);
}

void inbox_init(Inbox *inbox)
{
        pthread_mutex_init(&inbox->lock, NULL);
        cond_init(&inbox->filled);
        g_queue_init(&inbox->waiting);
        inbox->closing = inbox->poked = false;
}

void inbox_clear(Inbox *inbox)
{
        g_autoptr(GError) error = NULL;
        Input *input;

        err_set(&error, ERR_UNAVAILABLE, "the server is stopping\nTry again in a moment.");
        while ((input = g_queue_pop_head(&inbox->waiting)))
                input_answer(input, error);
        pthread_cond_destroy(&inbox->filled);
        pthread_mutex_destroy(&inbox->lock);
}

void inbox_put(Inbox *inbox, Input *input)
{
        pthread_mutex_lock(&inbox->lock);
        g_queue_push_tail(&inbox->waiting, input);
        if (inbox->waiting.length == 1)
                pthread_cond_signal(&inbox->filled);
        pthread_mutex_unlock(&inbox->lock);
}

void inbox_put_back(Inbox *inbox, GQueue *inputs)
{
        Input *input;

        pthread_mutex_lock(&inbox->lock);
        while ((input = g_queue_pop_tail(inputs)))
                g_queue_push_head(&inbox->waiting, input);
        pthread_mutex_unlock(&inbox->lock);
}

void inbox_poke(Inbox *inbox)
{
        pthread_mutex_lock(&inbox->lock);
        inbox->poked = true;
        pthread_cond_signal(&inbox->filled);
        pthread_mutex_unlock(&inbox->lock);
}

void inbox_close(Inbox *inbox)
{
        pthread_mutex_lock(&inbox->lock);
        inbox->closing = true;
        pthread_cond_signal(&inbox->filled);
        pthread_mutex_unlock(&inbox->lock);
}

static bool wait_more(Inbox *inbox, gint64 until_ms)
{
        if (until_ms < 0)
                return pthread_cond_wait(&inbox->filled, &inbox->lock) == 0;
        return until_ms > 0 && cond_wait_until(&inbox->filled, &inbox->lock, until_ms);
}

bool inbox_take(Inbox *inbox, guint max, gint64 until_ms, GQueue *ret)
{
        bool open;

        pthread_mutex_lock(&inbox->lock);
        while (!inbox->waiting.length && !inbox->closing && !inbox->poked && wait_more(inbox, until_ms))
                ;
        for (guint i = 0; i < max && inbox->waiting.length && !inbox->closing; i++)
                g_queue_push_tail_link(ret, g_queue_pop_head_link(&inbox->waiting));
        inbox->poked = false;
        open = !inbox->closing;
        pthread_mutex_unlock(&inbox->lock);
        return open;
}
