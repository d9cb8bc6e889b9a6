/* Objects of one kind have much in common: owners, labels, whole templates. In memory the common parts are kept once.
 * Private to the cache. */
#pragma once

#include <jansson.h>

/* A copy of `value` as small as it can be: parts that are equal to those at the same place of `like` are the parts of
 * `like`, and belong to both; so are texts and numbers of `value` itself. Neither may be changed afterwards. `like`
 * NULL: nothing is shared with it. The caller's. */
json_t *kube_share(json_t *value, json_t *like);
