/* Inside model/: makes the one block of memory that a Spec lives in. */
#pragma once

#include "model/spec.h"

/* A copy of `draft` (its strings and lists may belong to anyone) in a single allocation, with one reference.
 */
Spec *spec_copy(const Spec *draft, const Role *roles);
