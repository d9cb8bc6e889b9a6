"""Where the server is: an argument, PADDLE_SERVER, the client configuration file, else the embedded server of this user."""

import os
import pwd
import re
import shutil
import subprocess
from typing import Dict, List, NamedTuple, Optional

from .errors import ServerNotReached


class Config(NamedTuple):
    """What the client configuration file says of the server."""

    server: Optional[str] = None
    token: Optional[str] = None


def home() -> str:
    """The directory of the embedded server: PADDLE_HOME, else ~/.paddle."""
    return os.environ.get("PADDLE_HOME") or os.path.join(_user_home(), ".paddle")


def _user_home() -> str:
    """HOME, else (unset or empty) the home of the account, as the command `paddle` has it."""
    try:
        return os.environ.get("HOME") or pwd.getpwuid(os.geteuid()).pw_dir
    except KeyError:
        return "/"


def config_path() -> str:
    """The client configuration file: PADDLE_CONFIG, else `config` in the home."""
    return os.environ.get("PADDLE_CONFIG") or os.path.join(home(), "config")


def own_files() -> List[str]:
    """Where tokens, passwords and databases may be: homes of the embedded server, and configurations of clients."""
    user = _user_home()
    return [home(), config_path(), os.path.join(user, ".paddle"), os.path.join(user, ".paddleflow")]


def read_config() -> Config:
    """The client configuration file (PADDLE_CONFIG, else `config` in the home); empty without one.

    It names a server by `paddleServer`, or by `datacenters` and `current-datacenter`; `paddleServer` wins. Raises ValueError when the
    current datacenter is not in the list.
    """
    path = config_path()
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except FileNotFoundError:
        return Config()
    return parse_config(text, path)


def parse_config(text: str, path: str = "config") -> Config:
    """As read_config, of a text. Of YAML it reads what such a file holds: `key: value`, and a list of those below `datacenters`."""
    top: Dict[str, str] = {}
    items: List[Dict[str, str]] = []
    section = ""
    for line in text.splitlines():
        match = re.match(r"^(\s*)(-\s+)?([\w.-]+)\s*:(?:\s+(.*))?$", line)
        if not match or line.lstrip().startswith("#"):
            continue
        indent, dash, key, value = match.group(1), match.group(2), match.group(3), _scalar(match.group(4) or "")
        if not indent and not dash:
            section = key
            top[key] = value
        elif section == "datacenters":
            if dash or not items:
                items.append({})
            items[-1][key] = value
    chosen: Dict[str, str] = {}
    if items and not top.get("paddleServer"):
        current = top.get("current-datacenter", "")
        found = [item for item in items if item.get("name") == current]
        if not found:
            names = ", ".join(item.get("name", "(no name)") for item in items)
            raise ValueError(
                f"configuration '{path}': current-datacenter '{current}' is not one of datacenters (it has: {names})"
            )
        chosen = found[0]
    server = top.get("paddleServer") or chosen.get("endpoint")
    return Config(server.rstrip("/\\") if server else None, top.get("token") or chosen.get("token") or None)


def _scalar(text: str) -> str:
    """A value without quotes and without a remark, which the older examples write as ` //...`."""
    if text[:1] in ("'", '"'):
        return text[1:].partition(text[0])[0]
    return re.sub(r"(^|\s)(//|#).*$", "", text).strip()


def find_server(server: Optional[str] = None) -> str:
    """The server's URL: `http://host:port`, `https://...` or `unix:/path`. Starts the embedded one when none is named and none runs."""
    url = server or os.environ.get("PADDLE_SERVER") or read_config().server
    return url.rstrip("/") if url else start_embedded()


def find_token(token: Optional[str] = None, server: str = "") -> Optional[str]:
    """The token for `server`, or None: an argument, PADDLE_TOKEN, the configuration file. On a Unix socket the server knows its caller."""
    found = token or os.environ.get("PADDLE_TOKEN")
    return found or (None if server.startswith("unix:") else read_config().token)


def start_embedded() -> str:
    """Runs `paddle up` (PADDLE_PROGRAM names the program), which does nothing when the server runs already; returns its URL.

    Raises ServerNotReached when there is neither a server nor the program.
    """
    program = os.environ.get("PADDLE_PROGRAM") or shutil.which("paddle")
    socket = os.path.join(home(), "paddled.sock")
    if program:
        done = subprocess.run(
            [program, "up"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False
        )
        if done.returncode != 0:
            raise ServerNotReached(f"`{program} up` failed: {done.stderr.strip()}")
    elif not os.path.exists(socket):
        raise ServerNotReached(
            "there is no server, and `paddle`, which would start one, is not on PATH; install it or set PADDLE_SERVER"
        )
    return "unix:" + socket
