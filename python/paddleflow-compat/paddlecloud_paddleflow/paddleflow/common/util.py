"""The configuration file, which the command line shares (doc/reference/paddleflow-api.md, "Its configuration file")."""

import configparser
import os
import sys
from typing import NamedTuple

from .exception import PaddleFlowSDKException

DEFAULT_PADDLEFLOW_PORT = "8999"
DEFAULTS = f"""[user]
# this password is valid only with `paddled --published-password`
name = root
password = paddleflow

[server]
# where paddled listens
paddleflow_server_host = 127.0.0.1
paddleflow_server_port = {DEFAULT_PADDLEFLOW_PORT}
"""


class Config(NamedTuple):
    """Who logs in, and where."""

    name: str
    password: str
    host: str
    port: str


def get_default_config_path() -> str:
    """$HOME/.paddleflow/paddleflow.ini, which is written with defaults if it is missing."""
    path = os.path.join(os.path.expanduser("~"), ".paddleflow", "paddleflow.ini")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if not os.path.exists(path):
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(DEFAULTS)
        print(
            f"paddleflow: '{path}' was made: it names the server 127.0.0.1:{DEFAULT_PADDLEFLOW_PORT}, "
            "and root with the published password",
            file=sys.stderr,
        )
    return path


def read_config(path: str, code: str) -> Config:
    """Raises `code` if the file cannot be read, or lacks a key."""
    parser = configparser.RawConfigParser()
    try:
        with open(path, encoding="utf-8") as file:
            parser.read_file(file)
        user, server = parser["user"], parser["server"]
        port = server.get("paddleflow_server_port", DEFAULT_PADDLEFLOW_PORT)
        return Config(user["name"], user["password"], server["paddleflow_server_host"], port)
    except (OSError, UnicodeDecodeError, configparser.Error) as error:
        raise PaddleFlowSDKException(code, f"configuration '{path}' cannot be read: {error}") from error
    except KeyError as error:
        raise PaddleFlowSDKException(code, f"configuration '{path}' has no {error}") from error
