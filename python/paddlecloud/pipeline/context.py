"""Where a component belongs that is made now: the innermost `with` of this thread."""

import threading
from typing import TYPE_CHECKING, List, Optional

from .errors import fault

if TYPE_CHECKING:
    from .component import Component


class Scope:
    """Something that takes the components that are made inside of its `with`."""

    def add(self, component: "Component") -> None:
        """Takes a component."""
        raise NotImplementedError

    def _enter(self) -> None:
        _state.stack.append(self)

    def _exit(self) -> None:
        if not _state.stack or _state.stack[-1] is not self:
            raise fault("a `with` of a DAG ends that is not the innermost one; end the inner ones first")
        _state.stack.pop()


loading: Optional[str] = None  # the program whose pipeline another program asks for (load.py)


def check_running(what: str) -> None:
    """A DSLError while a program is only loaded: it would run or store the pipeline a second time."""
    if loading is not None:
        raise fault(
            f'the program calls {what} while `paddle` reads its pipeline; put this line below `if __name__ == "__main__":`, or start the '
            f"program itself: python {loading}"
        )


class _State(threading.local):
    def __init__(self) -> None:
        self.stack: List[Scope] = []


_state = _State()


def scopes() -> List[Scope]:
    """Those that are open in this thread, the innermost last."""
    return _state.stack


def innermost() -> Optional[Scope]:
    """The innermost one; None outside of all."""
    return _state.stack[-1] if _state.stack else None
