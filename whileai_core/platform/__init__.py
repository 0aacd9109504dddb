"""The client of the platform: one transport, datasets, agents, hub, credentials.

Operations are `async def`; `whileai_core.sync` offers them as blocking calls.
"""

from whileai_core.platform._agents import agents, purge_agent, register_agent
from whileai_core.platform._datasets import (
    catalog,
    datasets,
    delete_dataset,
    delete_empty_datasets,
    preview,
    profile,
    publish,
    unpublish,
    update_dataset,
)
from whileai_core.platform._delegated import (
    DelegatedCredentials,
    issue_delegated_credential,
    refresh_delegated_credential,
)
from whileai_core.platform._hub import hf_publish, hf_publish_run, hf_status, import_hf
from whileai_core.platform._observe import counters
from whileai_core.platform._pull import iter_rows, pull
from whileai_core.platform._push import push_file, push_rows
from whileai_core.platform.credentials import ApiKey, CredentialSource, KeptKey

__all__ = [
    "ApiKey",
    "CredentialSource",
    "DelegatedCredentials",
    "KeptKey",
    "agents",
    "catalog",
    "counters",
    "datasets",
    "delete_dataset",
    "delete_empty_datasets",
    "hf_publish",
    "hf_publish_run",
    "hf_status",
    "import_hf",
    "issue_delegated_credential",
    "iter_rows",
    "preview",
    "profile",
    "publish",
    "pull",
    "purge_agent",
    "push_file",
    "push_rows",
    "refresh_delegated_credential",
    "register_agent",
    "unpublish",
    "update_dataset",
]
