/* Turns (see turns.h). Users without copies have no queue. */
#include "runtime/local/turns.h"

typedef struct {
        guint running;
        GQueue waiting;
} Line;

struct Turns {
        guint each;
        GHashTable *lines; /* user -> Line */
};

static void line_free(void *arg)
{
        Line *line = arg;

        g_queue_clear(&line->waiting);
        g_free(line);
}

Turns *turns_new(guint each)
{
        Turns *turns = g_new0(Turns, 1);

        turns->each = each;
        turns->lines = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, line_free);
        return turns;
}

void turns_free(Turns *turns)
{
        if (!turns)
                return;
        g_hash_table_unref(turns->lines);
        g_free(turns);
}

bool turns_take(Turns *turns, const char *user, void *item)
{
        Line *line = g_hash_table_lookup(turns->lines, user);

        if (!line) {
                line = g_new0(Line, 1);
                g_queue_init(&line->waiting);
                g_hash_table_insert(turns->lines, g_strdup(user), line);
        }
        if (line->running == turns->each) {
                g_queue_push_tail(&line->waiting, item);
                return false;
        }
        line->running++;
        return true;
}

void *turns_give(Turns *turns, const char *user)
{
        Line *line = g_hash_table_lookup(turns->lines, user);
        void *next = g_queue_pop_head(&line->waiting);

        if (!next && --line->running == 0)
                g_hash_table_remove(turns->lines, user);
        return next;
}
