"""The client of the platform: one transport, datasets, agents, hub, credentials.

Operations are `async def`; `whileai_core.sync` offers them as blocking calls.
"""

from whileai_core.platform.datasets import (
    catalog,
    datasets,
    delete_dataset,
    preview,
    profile,
    publish,
    unpublish,
    update_dataset,
)
from whileai_core.platform.pull import iter_rows, pull
from whileai_core.platform.push import push_file, push_rows

__all__ = [
    "catalog",
    "datasets",
    "delete_dataset",
    "iter_rows",
    "preview",
    "profile",
    "publish",
    "pull",
    "push_file",
    "push_rows",
    "unpublish",
    "update_dataset",
]
