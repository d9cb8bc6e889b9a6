/* A cache of packages' requirements (see requirements-memory.h). A new entry replaces the oldest. */
#include "package/requirements-memory.h"

#include <string.h>

#include "package/package.h"

typedef struct {
        char hash[HASH_LEN + 1];
        char *text;    /* or NULL */
        GError *error; /* or NULL */
} Kept;

struct RequirementsMemory {
        GMutex lock;
        Kept kept[REQUIREMENTS_KEPT]; /* an empty hash: unused */
        guint next;
};

static void kept_clear(Kept *kept)
{
        g_free(kept->text);
        g_clear_error(&kept->error);
        *kept = (Kept){ 0 };
}

RequirementsMemory *requirements_memory_new(void)
{
        RequirementsMemory *memory = g_new0(RequirementsMemory, 1);

        g_mutex_init(&memory->lock);
        return memory;
}

void requirements_memory_free(RequirementsMemory *memory)
{
        if (!memory)
                return;
        for (guint i = 0; i < REQUIREMENTS_KEPT; i++)
                kept_clear(&memory->kept[i]);
        g_mutex_clear(&memory->lock);
        g_free(memory);
}

static Kept *find(RequirementsMemory *memory, const char *hash)
{
        for (guint i = 0; i < REQUIREMENTS_KEPT; i++)
                if (strcmp(memory->kept[i].hash, hash) == 0)
                        return &memory->kept[i];
        return NULL;
}

bool requirements_memory_get(RequirementsMemory *memory, const char *hash, char **ret_text, GError **error)
{
        const Kept *kept;

        g_mutex_lock(&memory->lock);
        kept = find(memory, hash);
        if (kept && kept->error && error)
                *error = g_error_copy(kept->error);
        if (kept && !kept->error && ret_text)
                *ret_text = g_strdup(kept->text);
        g_mutex_unlock(&memory->lock);
        return kept;
}

void requirements_memory_put(RequirementsMemory *memory, const char *hash, const char *text,
                             const GError *error)
{
        Kept *kept;

        g_mutex_lock(&memory->lock);
        if (!find(memory, hash)) {
                kept = &memory->kept[memory->next++ % REQUIREMENTS_KEPT];
                kept_clear(kept);
                g_strlcpy(kept->hash, hash, sizeof kept->hash);
                kept->text = g_strdup(text);
                kept->error = error ? g_error_copy(error) : NULL;
        }
        g_mutex_unlock(&memory->lock);
}
