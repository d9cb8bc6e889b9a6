/* What the store hands out and takes in, whatever keeps it (see store.h). */
#include "store/store.h"

void event_free(Event *event)
{
        if (!event)
                return;
        g_free(event->name);
        g_free(event->subject.owner);
        g_free(event->kind);
        g_free(event->data);
        g_free(event);
}

void store_state_clear(StoreState *state)
{
        for (int kind = 0; kind < RECORD_KINDS; kind++)
                g_clear_pointer(&state->loaded[kind], g_ptr_array_unref);
}

void usage_free(Usage *usage)
{
        if (!usage)
                return;
        g_free(usage->queue);
        g_free(usage->user);
        g_free(usage);
}

void token_free(Token *token)
{
        if (!token)
                return;
        g_free(token->id);
        g_free(token->user);
        g_free(token->hash);
        g_free(token->note);
        g_free(token->parent);
        g_free(token->queue);
        g_free(token->maker);
        g_free(token->authority);
        g_free(token);
}
