"""How programs are built with sanitizers, and the environment they run in."""

import pathlib

HERE = pathlib.Path(__file__).resolve().parent
ENVIRONMENT = {
    "G_SLICE": "always-malloc",
    "ASAN_OPTIONS": "abort_on_error=1:detect_leaks=1:strict_string_checks=1",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    "TSAN_OPTIONS": f"halt_on_error=1:second_deadlock_stack=1:suppressions={HERE}/tsan.supp",
    "LSAN_OPTIONS": f"suppressions={HERE}/lsan.supp:print_suppressions=0",
}


def build_options(names, *arguments):
    """Of `meson setup`. Such programs are compiled often: little is optimised, and debug information names functions and
    lines only. Without src/base/pch: so each file is seen to include what it uses."""
    options = ["--buildtype=plain", "-Doptimization=1", "-Db_pch=false", "-Db_lundef=false", f"-Db_sanitize={names}"]
    return [*options, "-Dc_args=" + " ".join(["-g1", *arguments])]
