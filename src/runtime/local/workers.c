/* Worker threads (see workers.h): one queue, one lock, one condition. */
#include "runtime/local/workers.h"

#include <pthread.h>
#include <stdbool.h>

struct Workers {
        WorkFunc run;
        void *arg;
        int max;
        pthread_mutex_t lock;
        pthread_cond_t changed;
        GQueue queue;
        bool ending;
        int idle, n;
        pthread_t threads[];
};

Workers *workers_new(int max_threads, WorkFunc run, void *arg)
{
        Workers *workers = g_malloc0(sizeof *workers + (gsize)max_threads * sizeof(pthread_t));

        workers->run = run;
        workers->arg = arg;
        workers->max = max_threads;
        pthread_mutex_init(&workers->lock, NULL);
        pthread_cond_init(&workers->changed, NULL);
        return workers;
}

static void *work(void *arg)
{
        Workers *workers = arg;

        pthread_mutex_lock(&workers->lock);
        for (;;) {
                void *item = g_queue_pop_head(&workers->queue);

                if (item) {
                        pthread_mutex_unlock(&workers->lock);
                        workers->run(item, workers->arg);
                        pthread_mutex_lock(&workers->lock);
                } else if (workers->ending) {
                        break;
                } else {
                        workers->idle++;
                        pthread_cond_wait(&workers->changed, &workers->lock);
                        workers->idle--;
                }
        }
        pthread_mutex_unlock(&workers->lock);
        return NULL;
}

void workers_push(Workers *workers, void *item)
{
        pthread_mutex_lock(&workers->lock);
        g_queue_push_tail(&workers->queue, item);
        /* If a thread cannot be created (limits), the others do its work; without any, the next push
         * retries. */
        if ((int)g_queue_get_length(&workers->queue) > workers->idle && workers->n < workers->max &&
            pthread_create(&workers->threads[workers->n], NULL, work, workers) == 0)
                workers->n++;
        pthread_cond_signal(&workers->changed);
        pthread_mutex_unlock(&workers->lock);
}

void workers_free(Workers *workers)
{
        if (!workers)
                return;
        pthread_mutex_lock(&workers->lock);
        workers->ending = true;
        pthread_cond_broadcast(&workers->changed);
        pthread_mutex_unlock(&workers->lock);
        for (int i = 0; i < workers->n; i++)
                pthread_join(workers->threads[i], NULL);
        for (void *item; (item = g_queue_pop_head(&workers->queue));)
                workers->run(item, workers->arg); /* no thread could be created */
        pthread_cond_destroy(&workers->changed);
        pthread_mutex_destroy(&workers->lock);
        g_free(workers);
}
