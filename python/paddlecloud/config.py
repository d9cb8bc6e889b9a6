"""Where the server is: an argument, PADDLE_SERVER, the client configuration file, else the embedded server of this user."""

import os
import re
import shutil
import subprocess

from .errors import ServerNotReached


def home():
    """The directory of the embedded server: PADDLE_HOME, else ~/.paddle."""
    return os.environ.get("PADDLE_HOME") or os.path.join(os.path.expanduser("~"), ".paddle")


def read_config():
    """Top-level `key: value` scalars of the client configuration file (PADDLE_CONFIG, else ~/.paddle/config); {} without one.

    The file is YAML; only its plain top-level scalars matter here, and a ` //...` remark after a value is cut.
    """
    path = os.environ.get("PADDLE_CONFIG") or os.path.join(os.path.expanduser("~"), ".paddle", "config")
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.readlines()
    except FileNotFoundError:
        return {}
    found = {}
    for line in lines:
        match = re.match(r"^([A-Za-z.]+):\s+(.*?)\s*(?:\s//.*|\s#.*)?$", line.rstrip("\n"))
        if match:
            found[match.group(1)] = match.group(2).strip("\"'")
    return found


def find_server(server=None):
    """The server's URL: `http://host:port`, `https://...` or `unix:/path`. Starts the embedded one when none is named and none runs."""
    url = server or os.environ.get("PADDLE_SERVER") or read_config().get("paddleServer")
    return url or start_embedded()


def find_token(token=None):
    """The token to send, or None: an argument, PADDLE_TOKEN, the configuration file."""
    return token or os.environ.get("PADDLE_TOKEN") or read_config().get("token")


def start_embedded():
    """Runs `paddle up`, which does nothing when the server runs already; returns its URL."""
    program = os.environ.get("PADDLE_PROGRAM") or shutil.which("paddle")
    url = "unix:" + os.path.join(home(), "paddled.sock")
    if program is None:
        if os.path.exists(url[len("unix:") :]):
            return url
        raise ServerNotReached(
            "there is no server, and `paddle`, which would start one, is not on PATH; install it or set PADDLE_SERVER"
        )
    done = subprocess.run([program, "up"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise ServerNotReached(f"`{program} up` failed: {done.stderr.strip()}")
    return url
