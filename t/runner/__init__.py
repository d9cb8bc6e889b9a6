"""Runs the tests: `make test`, `make check`, `make soak`. See doc/testing.md."""
