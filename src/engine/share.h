/* What a member gets of a cluster whose job declares no CPU anywhere (model/spec.h): a core, or as much as
 * lets all its members stand beside what never goes from the nodes. Pure. */
#pragma once

#include <glib.h>

#include "model/spec.h"

/* In thousandths of a core. `nodes`: RuntimeNode; those count that are usable and have
 * the labels that the job asks for; NULL: it is one machine, of `total`.
 * Where all of them together would not fit whatever they get, an equal part of `total`. */
gint64 share_on(const GPtrArray *nodes, const Resources *total, const Spec *spec);
