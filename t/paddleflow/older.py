"""The module `paddleflow` of python/paddleflow-compat under another name, since `paddleflow` is this folder of tests."""

import importlib.util
import sys

from conftest import ROOT

PLACE = ROOT / "python/paddleflow-compat/paddlecloud_paddleflow"


def load(name="older_paddleflow"):
    """The package; its parts are `older_paddleflow.queue` and so on."""
    if name not in sys.modules:
        folder = PLACE / "paddleflow"
        spec = importlib.util.spec_from_file_location(
            name, folder / "__init__.py", submodule_search_locations=[str(folder)]
        )
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]
