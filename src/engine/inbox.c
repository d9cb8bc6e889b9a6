/* The engine's inbox (see inbox.h). A POSIX mutex and condition rather than GLib's, as the thread sanitizer
 * understands these. */
#include "engine/inbox.h"

#include <errno.h>

#include "base/cond.h"
#include "base/err.h"

void inbox_init(Inbox *inbox)
{
        pthread_mutex_init(&inbox->lock, NULL);
        cond_init(&inbox->filled);
        g_queue_init(&inbox->waiting);
        inbox->closing = inbox->poked = false;
        inbox->expect_until_us = 0;
        inbox->wake_at = 1;
}

void inbox_clear(Inbox *inbox)
{
        g_autoptr(GError) error = NULL;
        Command *command;

        err_set(&error, ERR_UNAVAILABLE, "the server is stopping\nTry again in a moment.");
        while ((command = g_queue_pop_head(&inbox->waiting)))
                command_answer(NULL, command, error);
        pthread_cond_destroy(&inbox->filled);
        pthread_mutex_destroy(&inbox->lock);
}

void inbox_put(Inbox *inbox, Command *command)
{
        pthread_mutex_lock(&inbox->lock);
        g_queue_push_tail(&inbox->waiting, command);
        if (!command->done)
                inbox->wake_at = 1;
        if (inbox->waiting.length >= inbox->wake_at)
                pthread_cond_signal(&inbox->filled);
        pthread_mutex_unlock(&inbox->lock);
}

void inbox_put_back(Inbox *inbox, GQueue *commands)
{
        Command *command;

        pthread_mutex_lock(&inbox->lock);
        while ((command = g_queue_pop_tail(commands)))
                g_queue_push_head(&inbox->waiting, command);
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

void inbox_expect(Inbox *inbox, guint n, gint64 until_us)
{
        pthread_mutex_lock(&inbox->lock);
        inbox->wake_at = inbox->waiting.length + n;
        for (GList *link = inbox->waiting.head; link && inbox->wake_at > 1; link = link->next)
                if (!((Command *)link->data)->done)
                        inbox->wake_at = 1;
        inbox->expect_until_us = until_us;
        pthread_mutex_unlock(&inbox->lock);
}

/* Only concurrent callers are waited for: one that is alone is served at once. */
static void wait_for_expected(Inbox *inbox, guint max)
{
        inbox->wake_at = MIN(inbox->wake_at, max);
        while (inbox->waiting.length < inbox->wake_at && !inbox->closing && !inbox->poked &&
               cond_wait_until_us(&inbox->filled, &inbox->lock, inbox->expect_until_us))
                ;
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
        if (inbox->wake_at > 1 && until_ms != 0)
                wait_for_expected(inbox, max);
        inbox->wake_at = 1;
        while (!inbox->waiting.length && !inbox->closing && !inbox->poked && wait_more(inbox, until_ms))
                ;
        for (guint i = 0; i < max && inbox->waiting.length && !inbox->closing; i++)
                g_queue_push_tail_link(ret, g_queue_pop_head_link(&inbox->waiting));
        inbox->poked = false;
        open = !inbox->closing;
        pthread_mutex_unlock(&inbox->lock);
        return open;
}
