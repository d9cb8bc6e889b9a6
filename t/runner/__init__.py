"""Runs the tests: `make test`, `make check`, `make soak`. See doc/internals/testing.md."""
