"""Where tasks, flows and deployments lie, and how our own process reaches them.

An installed copy keeps them inside this package and off the import path, because their names
are generic and must never shadow a user's modules; a checkout has them beside it. Only our own
commands put the folder on the path, each for its own process.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import whileai_core


def source_root() -> Path:
    """Return the folder that holds `tasks`, `flows` and `deployments`."""
    package = Path(whileai_core.__file__).parent
    installed = package / "_pipelines"
    return installed if installed.is_dir() else package.parent


def working_directory() -> dict[str, str]:
    """Tell a worker where its copy of the flows lies; the pull step of every deployment."""
    return {"directory": str(source_root())}


def load_flow(name: str) -> Any:
    """Import `flows.<name>` into this process and return the module."""
    return load_module(f"flows.{name}")


def load_module(name: str) -> Any:
    """Import a module of `tasks`, `flows` or `deployments` into this process and return it."""
    root = str(source_root())
    if root not in sys.path:
        sys.path.insert(0, root)
    return import_module(name)
