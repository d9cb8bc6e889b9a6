/* A list, and a table of what is in it (see names.h). */
#include "runtime/kubernetes/object/names.h"

void names_init(Names *names)
{
        names->list = g_ptr_array_new_with_free_func(g_free);
        names->among = g_hash_table_new(g_str_hash, g_str_equal);
}

void names_clear(Names *names)
{
        g_clear_pointer(&names->among, g_hash_table_unref);
        g_clear_pointer(&names->list, g_ptr_array_unref);
}

bool names_has(const Names *names, const char *name)
{
        return g_hash_table_contains(names->among, name);
}

void names_add(Names *names, const char *name)
{
        char *own;

        if (names_has(names, name))
                return;
        own = g_strdup(name);
        g_ptr_array_add(names->list, own);
        g_hash_table_add(names->among, own);
}

void names_keep(Names *names, bool (*is_kept)(const char *name, void *arg), void *arg)
{
        for (guint i = names->list->len; i-- > 0;) {
                const char *name = names->list->pdata[i];

                if (is_kept(name, arg))
                        continue;
                g_hash_table_remove(names->among, name);
                g_ptr_array_remove_index(names->list, i);
        }
}
