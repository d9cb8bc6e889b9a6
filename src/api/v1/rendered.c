/* Rendered jobs (see rendered.h). */
#include "api/v1/rendered.h"

#include <pthread.h>
#include <string.h>

#include "base/clock.h"

enum { PLACES = 256, FRESH_MS = 100 };

typedef struct {
        char id[ID_LEN + 1];
        gint64 revision, made; /* made: monotonic ms */
        GBytes *text;          /* NULL: empty */
} Place;

struct Rendered {
        pthread_mutex_t lock;
        Place places[PLACES];
};

Rendered *rendered_new(void)
{
        Rendered *rendered = g_new0(Rendered, 1);

        pthread_mutex_init(&rendered->lock, NULL);
        return rendered;
}

void rendered_free(Rendered *rendered)
{
        if (!rendered)
                return;
        for (int i = 0; i < PLACES; i++)
                g_clear_pointer(&rendered->places[i].text, g_bytes_unref);
        pthread_mutex_destroy(&rendered->lock);
        g_free(rendered);
}

static Place *place_of(Rendered *rendered, const Job *job)
{
        return &rendered->places[g_str_hash(job->id) % PLACES];
}

GBytes *rendered_find(Rendered *rendered, const Job *job)
{
        Place *place = place_of(rendered, job);
        gint64 now = clock_monotonic_ms();
        GBytes *text = NULL;

        pthread_mutex_lock(&rendered->lock);
        if (place->text && place->revision == job->revision && now - place->made <= FRESH_MS &&
            strcmp(place->id, job->id) == 0)
                text = g_bytes_ref(place->text);
        pthread_mutex_unlock(&rendered->lock);
        return text;
}

void rendered_keep(Rendered *rendered, const Job *job, GBytes *text)
{
        Place *place = place_of(rendered, job);
        GBytes *old;

        if (job->state == JOB_QUEUED)
                return;
        pthread_mutex_lock(&rendered->lock);
        old = place->text;
        place->text = g_bytes_ref(text);
        place->revision = job->revision;
        place->made = clock_monotonic_ms();
        g_strlcpy(place->id, job->id, sizeof place->id);
        pthread_mutex_unlock(&rendered->lock);
        if (old)
                g_bytes_unref(old);
}
