"""The module `paddleflow` of python/paddleflow-compat under another name, since `paddleflow` is this folder of tests."""

import importlib.util
import sys

from conftest import ROOT
from paddlecloud.pipeline.errors import DSLError, use

PLACE = ROOT / "python/paddleflow-compat/paddlecloud_paddleflow"


def load(name="older_paddleflow"):
    """The package; its parts are `older_paddleflow.queue` and so on. It makes the errors of paddlecloud.pipeline its own when it is
    loaded. This is undone, since a process that only collects tests loads it, too."""
    if name not in sys.modules:
        folder = PLACE / "paddleflow"
        spec = importlib.util.spec_from_file_location(
            name, folder / "__init__.py", submodule_search_locations=[str(folder)]
        )
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
        use(DSLError)
    return sys.modules[name]
