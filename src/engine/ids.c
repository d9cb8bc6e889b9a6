/* Numbers for names (see ids.h). */
#include "engine/ids.h"

struct Ids {
        GRWLock lock;
        GHashTable *numbers; /* interned name -> number */
        GPtrArray *names;    /* by number; NULL: free */
        GArray *free;        /* int */
};

/* The lock of a table that is only read from outside. */
static GRWLock *lock_of(const Ids *ids)
{
        return &((Ids *)ids)->lock;
}

Ids *ids_new(void)
{
        Ids *ids = g_new0(Ids, 1);

        g_rw_lock_init(&ids->lock);
        ids->numbers = g_hash_table_new(g_direct_hash, g_direct_equal);
        ids->names = g_ptr_array_new();
        ids->free = g_array_new(FALSE, FALSE, sizeof(int));
        return ids;
}

void ids_free(Ids *ids)
{
        if (!ids)
                return;
        g_hash_table_unref(ids->numbers);
        g_ptr_array_unref(ids->names);
        g_array_unref(ids->free);
        g_rw_lock_clear(&ids->lock);
        g_free(ids);
}

static int find(const Ids *ids, const char *interned)
{
        gpointer value;

        return g_hash_table_lookup_extended(ids->numbers, interned, NULL, &value) ? GPOINTER_TO_INT(value)
                                                                                  : -1;
}

static int take(Ids *ids)
{
        int id;

        if (ids->free->len == 0) {
                g_ptr_array_add(ids->names, NULL);
                return (int)ids->names->len - 1;
        }
        id = g_array_index(ids->free, int, ids->free->len - 1);
        g_array_set_size(ids->free, ids->free->len - 1);
        return id;
}

int ids_get(Ids *ids, const char *name)
{
        const char *interned = g_intern_string(name);
        int id = ids_find(ids, interned);

        if (id >= 0)
                return id;
        g_rw_lock_writer_lock(&ids->lock);
        id = find(ids, interned);
        if (id < 0) {
                id = take(ids);
                ids->names->pdata[id] = (gpointer)interned;
                g_hash_table_insert(ids->numbers, (gpointer)interned, GINT_TO_POINTER(id));
        }
        g_rw_lock_writer_unlock(&ids->lock);
        return id;
}

int ids_find(const Ids *ids, const char *name)
{
        GQuark known = g_quark_try_string(name);
        int id = -1;

        if (!known)
                return -1;
        g_rw_lock_reader_lock(lock_of(ids));
        id = find(ids, g_quark_to_string(known));
        g_rw_lock_reader_unlock(lock_of(ids));
        return id;
}

const char *ids_name(const Ids *ids, int id)
{
        const char *name = NULL;

        g_rw_lock_reader_lock(lock_of(ids));
        if (id >= 0 && (guint)id < ids->names->len)
                name = ids->names->pdata[id];
        g_rw_lock_reader_unlock(lock_of(ids));
        return name;
}

void ids_give_back(Ids *ids, const char *name)
{
        const char *interned = g_intern_string(name);
        int id;

        g_rw_lock_writer_lock(&ids->lock);
        id = find(ids, interned);
        if (id >= 0) {
                g_hash_table_remove(ids->numbers, interned);
                ids->names->pdata[id] = NULL;
                g_array_append_val(ids->free, id);
        }
        g_rw_lock_writer_unlock(&ids->lock);
}

int ids_bound(const Ids *ids)
{
        int bound;

        g_rw_lock_reader_lock(lock_of(ids));
        bound = (int)ids->names->len;
        g_rw_lock_reader_unlock(lock_of(ids));
        return bound;
}
