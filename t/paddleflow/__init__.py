"""Conformance with the PaddleFlow interface: each row of its tables is a case, written from
doc/reference/paddleflow-api.md."""
