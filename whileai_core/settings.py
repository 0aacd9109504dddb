"""The settings object: the one place that reads the environment.

Every setting is `WHILEAI_<NAME>`, but for those that have a name of their own everywhere (an
OpenAI key); an empty value equals unset. Settings are read when they
are asked for, not at import, so a test or a worker may change them between calls.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, SettingsConfigDict

from whileai_core.errors import SettingsError
from whileai_core.urls import has_secret


class Settings(BaseSettings):
    """What the product can be told from outside.

    Attributes:
        home: Folder that holds everything the product keeps (ledger, RowSets, gate).
        api_url: Base URL of the platform; unset means the embedded gate, unless a credential is.
        pages_url: Base URL of the gate's pages, for links from runs to datasets; default `api_url`.
        runs_url: Address of Prefect's list of runs (`http://host:4200/v2/runs`), for links from
            datasets to the runs that pushed them.
        delegated_credential: Short-lived credential, first in the order after an argument.
        api_key: Static account key.
        store_url: fsspec URL of the RowSet store; default `<home>/store`.
        ledger_url: SQLAlchemy URL of the ledger; default SQLite under home.
        dask_scheduler: Address of a Dask scheduler (`tcp://host:8786`) whose workers make the
            shards of a night; unset means this process does.
        gate_database_url: SQLAlchemy URL of the embedded gate; default SQLite under home.
        gate_blob_url: fsspec URL of the gate's blobs; default `<home>/gate/blobs`.
        gate_origin: Public `scheme://host` of the gate; default: each request's Host header.
        gate_max_upload_bytes: Largest upload the gate takes.
        gate_max_traces_bytes: Largest OTLP request the gate takes, packed and unpacked.
        gate_loose_span_days: Days the gate keeps a span that belongs to no conversation.
        gate_key_rate: Requests a second a key may make in the long run; 0 means any number.
        gate_key_burst: Requests a key may make at once.
        gate_failure_rate: Requests a second without a good credential an address may make.
        gate_failure_burst: Such requests at once.
        hf_token: Hugging Face token; read from `HF_TOKEN`.
        hf_endpoint: Address of the Hub; read from `HF_ENDPOINT`; default the public one.
        allow_insecure: Permit plain http to other hosts than loopback.
        allowed_imports: Packages and modules, separated by commas, from which agents, judges and
            improvers may be named as `module:attribute`.
        openai_api_key: Key for `openai:` endpoints, `OPENAI_API_KEY`.
        openai_base_url: Where `openai:` endpoints are, `OPENAI_BASE_URL`.
        ollama_host: Where `ollama:` endpoints are, `OLLAMA_HOST`.
        endpoint_key: Key for endpoints named with an address (`vllm:<model>@<address>`).
        rule_cap: Policy clauses a coverage grid varies; read from `ZP_RULE_CAP`, as the peer does.
    """

    model_config = SettingsConfigDict(
        env_prefix="WHILEAI_", env_ignore_empty=True, extra="ignore", hide_input_in_errors=True
    )

    home: Path = Field(default_factory=lambda: Path.home() / ".whileai")
    api_url: str | None = None
    pages_url: str | None = None
    runs_url: str | None = None
    delegated_credential: SecretStr | None = None
    api_key: SecretStr | None = None
    store_url: str | None = None
    ledger_url: str | None = None
    dask_scheduler: str | None = None
    gate_database_url: str | None = None
    gate_blob_url: str | None = None
    gate_origin: str | None = None
    gate_max_upload_bytes: int = Field(default=5 * 1024**3, ge=1)
    gate_max_traces_bytes: int = Field(default=64 * 1024**2, ge=1)
    gate_loose_span_days: float = Field(default=7, ge=0)
    gate_key_rate: float = Field(default=200, ge=0)
    gate_key_burst: int = Field(default=2000, ge=1)
    gate_failure_rate: float = Field(default=5, ge=0)
    gate_failure_burst: int = Field(default=500, ge=1)
    hf_token: SecretStr | None = Field(default=None, validation_alias="HF_TOKEN")
    hf_endpoint: str | None = Field(default=None, validation_alias="HF_ENDPOINT")
    allow_insecure: bool = False
    allowed_imports: str = ""
    openai_api_key: SecretStr | None = Field(default=None, validation_alias="OPENAI_API_KEY")
    openai_base_url: str = Field(
        default="https://api.openai.com/v1", validation_alias="OPENAI_BASE_URL"
    )
    ollama_host: str = Field(default="127.0.0.1:11434", validation_alias="OLLAMA_HOST")
    endpoint_key: SecretStr | None = None
    rule_cap: int = Field(default=16, ge=0, validation_alias="ZP_RULE_CAP")

    @field_validator("home")
    @classmethod
    def _from_anywhere(cls, home: Path) -> Path:
        """Mean the same folder whoever asks: `~` is the user's."""
        return home.expanduser()

    @field_validator("store_url", "gate_blob_url", "dask_scheduler")
    @classmethod
    def _without_secret(cls, url: str | None) -> str | None:
        """Refuse secrets where they would be shown: handles, results and logs name the place."""
        if url and has_secret(url):
            raise PydanticCustomError(
                "secret_in_url",
                "holds a password or a signature, and ends up in results and logs; give secrets "
                "by the environment or files of what opens it (AWS_*, FSSPEC_*, DASK_*, …)",
            )
        return url

    @property
    def store(self) -> str:
        """URL or folder of the RowSet store."""
        return self.store_url or str(self.home / "store")

    @property
    def gate_folder(self) -> Path:
        """Folder of the embedded gate's database and blobs."""
        return self.home / "gate"

    def dataset_page(self, dataset_id: str) -> str | None:
        """Address of a dataset's page for people, if it has one."""
        pages = self.pages_url or self.api_url
        return f"{pages.rstrip('/')}/data/{dataset_id}" if pages else None


def get_settings() -> Settings:
    """Return the settings as the environment has them now.

    Raises:
        SettingsError: A variable has a value that cannot be used, or the home is no folder.
    """
    try:
        settings = _settings_in(tuple(os.environ.items()))
    except ValidationError as error:
        # Without the values: one of them may be a secret.
        wrong = [f"{_variable(part['loc'])}: {part['msg']}" for part in error.errors()]
        raise SettingsError(f"the environment cannot be used; {'; '.join(wrong)}") from None
    except RuntimeError:  # neither HOME nor an entry in the user database
        raise SettingsError(
            "there is no home folder to keep things in; set WHILEAI_HOME to a folder"
        ) from None
    home = settings.home.absolute()  # flows run in other folders
    there = next(path for path in (home, *home.parents) if os.path.lexists(path))
    if not there.is_dir():
        raise SettingsError(
            f"nothing can be kept in {home}: {there} is no folder; set WHILEAI_HOME to one"
        )
    return settings.model_copy(update={"home": home})


@lru_cache(maxsize=1)
def _settings_in(_environment: tuple[tuple[str, str], ...]) -> Settings:
    """Read the environment once for each state of it: that takes two milliseconds."""
    return Settings()


def _variable(location: tuple[int | str, ...]) -> str:
    name = str(location[0]) if location else "settings"
    return f"WHILEAI_{name.upper()}" if name in Settings.model_fields else name
