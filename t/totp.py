"""What shows the codes of a second factor."""

import base64
import hashlib
import hmac
import struct
import time


def code_of(secret, step):
    """RFC 6238, in Python's own words."""
    digest = hmac.new(base64.b32decode(secret), struct.pack(">Q", step), hashlib.sha1).digest()
    at = digest[-1] & 15
    return f"{(int.from_bytes(digest[at : at + 4], 'big') & 0x7FFFFFFF) % 10**6:06}"


class Device:
    """What shows codes: that of now, then that of the next step, which the server takes as well. Both are good for 30 s at least,
    and a test needs no third."""

    def __init__(self, secret):
        self.secret, self.last = secret, 0

    def code(self):
        now = int(time.time() / 30)
        self.last = max(self.last + 1, now)
        assert self.last <= now + 1, "a test that takes a third code would have to wait"
        return code_of(self.secret, self.last)

    def wrong(self):
        """One that is good at none of the steps around."""
        now = int(time.time() / 30)
        near = {code_of(self.secret, step) for step in range(now - 3, now + 4)}
        return next(code for code in (f"{i:06}" for i in range(8)) if code not in near)
