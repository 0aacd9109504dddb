"""The Hub as the rest of this room uses it: few calls, safe to repeat, with our errors."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, TypeAlias, cast
from urllib.parse import urlsplit

from whileai_core.errors import Refused
from whileai_core.hub.account import HUB
from whileai_core.hub.failures import calling

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from huggingface_hub import HfApi

    from whileai_core.hub.account import Account

Kind: TypeAlias = Literal["dataset", "model"]

_CONNECT_SECONDS, _READ_SECONDS = 15.0, 300.0
_WRITERS = {"write", "admin", "contributor"}
_READ_BLOCK = 4 * 1024 * 1024
_prepared = threading.Lock()


@dataclass(frozen=True)
class Me:
    """Who the token belongs to.

    Attributes:
        namespaces: User and organisations, whatever the rights there.
        writable: Those the token can write to, as far as the Hub tells; of a fine-grained token
            also single repositories.
        scopes: What the Hub says of the token: a role, or the permissions of a fine-grained one.
    """

    name: str
    namespaces: list[str]
    writable: frozenset[str]
    scopes: list[str]


@dataclass(frozen=True)
class Repo:
    """A repository and its newest commit."""

    id: str
    kind: Kind
    head: str
    private: bool
    files: list[str] = field(repr=False)


class Hub:
    """The Hub, as one account sees it."""

    def __init__(self, account: Account) -> None:
        self.endpoint = account.endpoint
        self._token = account.token
        self._api = _new_api(account)

    def me(self) -> Me:
        """Return who the token belongs to."""
        about = calling("asking who the token belongs to", self._api.whoami)
        token = (about.get("auth") or {}).get("accessToken") or {}
        role = token.get("role")
        orgs = {org["name"]: org.get("roleInOrg") for org in about.get("orgs") or ()}
        fine = role == "fineGrained"
        writable = {about["name"], *(org for org, right in orgs.items() if right in _WRITERS)}
        if fine:
            writable = _fine_grained_writable(token)
        elif role == "read":
            writable = set()
        scopes = sorted(_fine_grained_scopes(token)) if fine else [role] if role else []
        return Me(about["name"], [about["name"], *orgs], frozenset(writable), scopes)

    def ensure_repo(self, repo_id: str, kind: Kind, *, private: bool) -> Repo:
        """Return a repository, made when it is not there.

        Raises:
            Refused: It is public and was asked to be private: nothing is put where all can see it.
        """
        calling(
            f"creating {repo_id}",
            self._api.create_repo,
            repo_id,
            repo_type=kind,
            private=private,
            exist_ok=True,
        )
        repo = self.repo(repo_id, kind)
        if private and not repo.private:
            raise Refused(
                f"{repo_id} is public; publish with --public (private=False), make it private on "
                "the Hub, or choose another repository"
            )
        return repo

    def repo(self, repo_id: str, kind: Kind, revision: str | None = None) -> Repo:
        """Return a repository at a revision.

        Raises:
            NotFound: There is no such repository or revision.
        """
        info: Any = calling(
            f"reading {repo_id}",
            self._api.repo_info,
            repo_id,
            repo_type=kind,
            revision=revision,
        )
        files = [sibling.rfilename for sibling in info.siblings or ()]
        return Repo(repo_id, kind, str(info.sha), bool(info.private), files)

    def read(self, repo: Repo, path: str) -> bytes | None:
        """Return a small file of a repository; None when it has none of that name."""
        from huggingface_hub import get_session, hf_hub_url, hf_raise_for_status

        if path not in repo.files:
            return None
        url = hf_hub_url(
            repo.id, path, repo_type=repo.kind, revision=repo.head, endpoint=self.endpoint
        )

        def fetch() -> bytes:
            headers = {"Authorization": f"Bearer {self._token.get_secret_value()}"}
            response = get_session().get(url, headers=headers)
            hf_raise_for_status(response)
            return bytes(response.content)

        return calling(f"reading {path} of {repo.id}", fetch)

    def open(self, repo: Repo, path: str) -> BinaryIO:
        """Open a file of a dataset repository; its bytes come as they are read."""
        from huggingface_hub import HfFileSystem

        files = HfFileSystem(
            endpoint=self.endpoint, token=self._token.get_secret_value(), skip_instance_cache=True
        )
        name = f"datasets/{repo.id}@{repo.head}/{path}"
        opened = calling(
            f"opening {path} of {repo.id}", files.open, name, "rb", block_size=_READ_BLOCK
        )
        return cast("BinaryIO", opened)

    def commit(
        self,
        repo: Repo,
        *,
        add: dict[str, Any],
        delete: Sequence[str],
        title: str,
        message: str,
    ) -> str:
        """Make one commit on top of the repository's newest one; return its id.

        Not repeated here: an answer that is lost leaves open whether it was made.

        Args:
            repo: Where, and on top of what.
            add: Path in the repository to a local path or bytes.
            delete: Paths to delete.
            title: First line of the message.
            message: The rest.
        """
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete

        additions = [CommitOperationAdd(path, content) for path, content in add.items()]
        for addition in additions:
            # One by one: several at once take a thread pool, which a process that ends has not.
            if isinstance(addition.path_or_fileobj, str):
                self._api.preupload_lfs_files(
                    repo.id, [addition], repo_type=repo.kind, revision="main", free_memory=False
                )
        made = self._api.create_commit(
            repo.id,
            [*additions, *(CommitOperationDelete(path) for path in delete)],
            commit_message=title,
            commit_description=message,
            repo_type=repo.kind,
            revision="main",
            parent_commit=repo.head,
        )
        return str(made.oid)

    def find_commit(self, repo: Repo, holds: Callable[[str], bool]) -> str | None:
        """Return the newest commit whose message is the one looked for."""
        commits = calling(
            f"reading the history of {repo.id}",
            self._api.list_repo_commits,
            repo.id,
            repo_type=repo.kind,
            revision=repo.head,
        )
        return next((one.commit_id for one in commits if holds(one.message)), None)

    def tags(self, repo: Repo) -> dict[str, str]:
        """Return the tags of a repository and the commits they stand for."""
        refs = calling(
            f"reading the tags of {repo.id}", self._api.list_repo_refs, repo.id, repo_type=repo.kind
        )
        return {tag.name: tag.target_commit for tag in refs.tags}

    def tag(self, repo: Repo, name: str, commit: str) -> None:
        """Let a tag stand for a commit, wherever it stood before."""
        where = {"repo_type": repo.kind}
        stands = self.tags(repo).get(name)
        if stands == commit:
            return
        if stands is not None:
            calling(f"moving tag {name} of {repo.id}", self._untag, repo, name)
        calling(
            f"tagging {repo.id}",
            self._api.create_tag,
            repo.id,
            tag=name,
            revision=commit,
            exist_ok=True,
            **where,
        )

    def url(self, repo: Repo) -> str:
        """Return the address of a repository's page."""
        prefix = "datasets/" if repo.kind == "dataset" else ""
        return f"{self.endpoint}/{prefix}{repo.id}"

    def _untag(self, repo: Repo, name: str) -> None:
        from huggingface_hub.errors import RevisionNotFoundError

        try:
            self._api.delete_tag(repo.id, tag=name, repo_type=repo.kind)
        except RevisionNotFoundError:  # an attempt before this one has done it
            return


def _new_api(account: Account) -> HfApi:
    import huggingface_hub
    from huggingface_hub import constants
    from huggingface_hub.utils.tqdm import disable_progress_bars

    with _prepared:
        # Only the public Hub stores files through Xet, and the library does not ask a server.
        host = urlsplit(account.endpoint).hostname
        constants.HF_HUB_DISABLE_XET = host != urlsplit(HUB).hostname
        disable_progress_bars()
        _bound_requests()
    return huggingface_hub.HfApi(
        endpoint=account.endpoint,
        token=account.token.get_secret_value(),
        library_name="whileai-pipelines",
    )


def _bound_requests() -> None:
    """Give the library's requests an end: its own client waits for ever on a silent server."""
    import httpx2
    from huggingface_hub import set_client_factory
    from huggingface_hub.utils import _http as library

    if library._GLOBAL_CLIENT_FACTORY is not library.default_client_factory:
        return  # somebody in this process has chosen a client; it is theirs

    def bounded() -> httpx2.Client:
        client = library.default_client_factory()
        client.timeout = httpx2.Timeout(_READ_SECONDS, connect=_CONNECT_SECONDS)
        return client

    set_client_factory(bounded)


def _fine_grained_writable(token: dict[str, Any]) -> set[str]:
    scoped = (token.get("fineGrained") or {}).get("scoped") or ()
    return {
        scope["entity"]["name"]
        for scope in scoped
        if "repo.write" in scope.get("permissions", ()) and "name" in scope.get("entity", {})
    }


def _fine_grained_scopes(token: dict[str, Any]) -> set[str]:
    fine = token.get("fineGrained") or {}
    scoped = {right for scope in fine.get("scoped") or () for right in scope["permissions"]}
    return scoped | set(fine.get("global") or ())
