"""What is known of a user."""

import dataclasses


@dataclasses.dataclass(eq=False)
class UserInfo:
    """`create_time` is RFC 3339 text."""

    name: str
    create_time: str
