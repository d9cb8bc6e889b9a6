/* A body of the older interface: whatever comes out of it has the members of the table, of their types. */
#include <stddef.h>
#include <stdint.h>

#include "api/paddleflow/go.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const GoField inner[] = { { "cpu", GO_STRING }, { "scalarResources", GO_MAP }, { NULL } };
static const GoField fields[] = { { "name", GO_STRING },
                                  { "port", GO_INT },
                                  { "isHybrid", GO_BOOL },
                                  { "args", GO_LIST },
                                  { "flavour", GO_STRUCT, inner },
                                  { "members", GO_STRUCTS, inner },
                                  { "extensionTemplate", GO_OBJECT },
                                  { NULL } };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        g_autoptr(json_t) body = go_parse((const char *)data, size, NULL);
        g_autoptr(json_t) decoded = NULL, again = NULL;

        decoded = body ? go_decode(body, fields, NULL) : NULL;
        if (!decoded)
                return 0;
        g_assert_cmpuint(json_object_size(decoded), <=, G_N_ELEMENTS(fields) - 1);
        again = go_decode(decoded, fields, NULL);
        g_assert_true(json_equal(decoded, again)); /* what was decoded is its own form */
        return 0;
}
