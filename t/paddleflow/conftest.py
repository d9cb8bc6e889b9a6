"""Servers for the conformance tests: on a loopback port, with a machine room that the seeded flavours fit in."""

import contextlib

import pytest
from conftest import Server

from paddleflow.client import Flow

ROOM = ("--cpus", "8", "--memory", "16Gi", "--gpus", "4")


def start(state, *options):
    older = ("--published-password", "127.0.0.1")  # as older clients expect to find the account root
    server = Server(state, *ROOM, "--listen", "127.0.0.1:0", *older, *options)
    server.start()
    try:
        return Flow(server, "127.0.0.1", server.port)
    except BaseException:
        server.destroy()
        raise


@pytest.fixture(scope="module")
def flow(tmp_path_factory):
    """One server for a module; its tests take fresh names."""
    flow = start(tmp_path_factory.mktemp("state"))
    yield flow
    flow.server.destroy()


@pytest.fixture
def make_flow(tmp_path_factory):
    """Servers with options of their own, for one test."""
    flows = []

    def make(*options):
        flows.append(start(tmp_path_factory.mktemp("state"), *options))
        return flows[-1]

    yield make
    with contextlib.ExitStack() as stack:
        for flow in flows:
            stack.callback(flow.server.destroy)


@pytest.fixture(scope="module")
def alice(flow):
    return flow.make_user("alice")


@pytest.fixture(scope="module")
def bobby(flow):
    return flow.make_user("bobby")
