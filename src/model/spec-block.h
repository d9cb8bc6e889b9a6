/* Inside model/: allocates the single block of memory that a Spec lives in. */
#pragma once

#include "model/spec.h"

/* A copy of `draft` in a single allocation, with one reference. The strings and lists of `draft` stay their
 * owner's. *ret_texts: the bytes of all texts. */
Spec *spec_copy(const Spec *draft, const Role *roles, gsize *ret_texts);
