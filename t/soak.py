"""Whether tests take their long form: PADDLE_SOAK=1. Not set, empty and 0 mean the short one (src/base/test/seed.h)."""


def is_soak(environ):
    return environ.get("PADDLE_SOAK", "") not in ("", "0")
