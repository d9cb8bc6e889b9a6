/* Turns of questions (see usage-pace.h). */
#include "runtime/kubernetes/cluster/usage-pace.h"

enum { SILENT_TURNS_MAX = 30 };

/* A node that did not answer. */
typedef struct {
        int length, left; /* turns */
} Silence;

struct UsagePace {
        GQueue line;        /* char *: nodes */
        GHashTable *silent; /* node -> Silence */
        int asking;         /* who have not answered yet */
        int allowed;        /* questions in this second */
        int ticks;          /* since the last turn began */
        int turns_off;      /* after a refusal */
};

UsagePace *usage_pace_new(void)
{
        UsagePace *pace = g_new0(UsagePace, 1);

        g_queue_init(&pace->line);
        pace->silent = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        return pace;
}

void usage_pace_free(UsagePace *pace)
{
        if (!pace)
                return;
        usage_pace_stop(pace);
        g_hash_table_unref(pace->silent);
        g_free(pace);
}

bool usage_pace_tick(UsagePace *pace)
{
        pace->allowed = USAGE_EACH_TICK;
        if (++pace->ticks < USAGE_TURN || !g_queue_is_empty(&pace->line) || pace->asking > 0)
                return false;
        pace->ticks = 0;
        if (pace->turns_off == 0)
                return true;
        pace->turns_off--;
        return false;
}

static bool is_left_out(UsagePace *pace, const char *node)
{
        Silence *silence = g_hash_table_lookup(pace->silent, node);

        return silence && silence->left-- > 0;
}

void usage_pace_add(UsagePace *pace, const char *node)
{
        if (!is_left_out(pace, node))
                g_queue_push_tail(&pace->line, g_strdup(node));
}

char *usage_pace_next(UsagePace *pace)
{
        if (pace->asking >= USAGE_AT_ONCE || pace->allowed == 0 || g_queue_is_empty(&pace->line))
                return NULL;
        pace->asking++;
        pace->allowed--;
        return g_queue_pop_head(&pace->line);
}

void usage_pace_answered(UsagePace *pace, const char *node)
{
        pace->asking--;
        g_hash_table_remove(pace->silent, node);
}

void usage_pace_silent(UsagePace *pace, const char *node)
{
        Silence *silence = g_hash_table_lookup(pace->silent, node);

        pace->asking--;
        if (!silence) {
                silence = g_new0(Silence, 1);
                g_hash_table_insert(pace->silent, g_strdup(node), silence);
        }
        silence->length = MIN(2 * silence->length + 1, SILENT_TURNS_MAX);
        silence->left = silence->length;
}

void usage_pace_denied(UsagePace *pace)
{
        pace->asking--;
        pace->turns_off = USAGE_TURNS_OFF;
        g_queue_clear_full(&pace->line, g_free);
}

void usage_pace_stop(UsagePace *pace)
{
        pace->asking = 0;
        g_queue_clear_full(&pace->line, g_free);
}
