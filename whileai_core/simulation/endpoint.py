"""A chat endpoint by name: where it is, which model, with which key."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pydantic import SecretStr

from whileai_core.errors import SettingsError
from whileai_core.settings import get_settings

if TYPE_CHECKING:
    from whileai_core.settings import Settings

_REFERENCE = re.compile(r"(openai|vllm|ollama):(\S.*)", re.DOTALL)
_FORMS = "openai:<model>, vllm:<model>@<address> or ollama:<model>"


@dataclass(frozen=True, slots=True, init=False)
class ChatEndpoint:
    """An OpenAI-compatible chat endpoint.

    Args:
        base_url: Address up to and without `/chat/completions`; `/v1` is added to a bare host.
        model: Name of the model there.
        api_key: Its key, if it wants one. It is never shown.

    Raises:
        SettingsError: The address is malformed, or the key would travel in plain http.
    """

    base_url: str
    model: str
    api_key: SecretStr | None

    def __init__(self, base_url: str, model: str, api_key: str | SecretStr | None = None) -> None:
        key = SecretStr(api_key) if isinstance(api_key, str) else api_key
        if not model.strip():
            raise SettingsError(f"a chat endpoint needs a model; expected {_FORMS}")
        url = _checked_url(base_url, keyed=key is not None, settings=get_settings())
        object.__setattr__(self, "base_url", url)
        object.__setattr__(self, "model", model.strip())
        object.__setattr__(self, "api_key", key if key and key.get_secret_value() else None)

    @classmethod
    def parse(cls, reference: str, *, api_key: str | SecretStr | None = None) -> ChatEndpoint:
        """Read `openai:<model>`, `vllm:<model>@<address>` or `ollama:<model>[@<address>]`.

        Without `api_key`, `openai:` takes its key and address from `OPENAI_API_KEY` and
        `OPENAI_BASE_URL`, and the others take their key from `WHILEAI_ENDPOINT_KEY`, if set. The
        OpenAI key never goes to an address named in a reference.

        Raises:
            SettingsError: The reference has another form, or the key it needs is not set.
        """
        match = _REFERENCE.fullmatch(reference.strip())
        if match is None:
            raise SettingsError(f"{reference!r} names no chat endpoint; expected {_FORMS}")
        settings = get_settings()
        kind, rest = match[1], match[2]
        if kind == "openai":
            if "@http" in rest:
                raise SettingsError(
                    f"{reference!r} gives an address; use vllm:<model>@<address>, or set "
                    "OPENAI_BASE_URL"
                )
            key = api_key or settings.openai_api_key
            if key is None:
                raise SettingsError(f"{reference} needs a key; set OPENAI_API_KEY")
            return cls(settings.openai_base_url, rest, key)
        model, at, url = rest.rpartition("@")
        if not at:
            if kind == "vllm":
                raise SettingsError(f"{reference} lacks the address; expected {_FORMS}")
            model, url = rest, _ollama_url(settings.ollama_host)
        return cls(url, model, api_key or settings.endpoint_key)

    @classmethod
    def is_reference(cls, text: str) -> bool:
        """Tell whether a text has the form of an endpoint reference."""
        return _REFERENCE.fullmatch(text.strip()) is not None

    @property
    def host(self) -> str:
        """Host and port, for messages."""
        return urlsplit(self.base_url).netloc

    def __str__(self) -> str:
        return f"{self.model} at {self.host}"


def _checked_url(url: str, *, keyed: bool, settings: Settings) -> str:
    from whileai_core.platform._target import is_safe, origin_of

    url = url.strip()
    try:
        parts, (scheme, host, _) = urlsplit(url), origin_of(url)
    except ValueError:
        scheme, host = "", None
    if scheme not in {"http", "https"} or not host:
        raise SettingsError("the address of a chat endpoint must look like https://host[:port]/v1")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise SettingsError(
            f"the address of the chat endpoint at {host} must hold no user name, query or "
            "fragment; pass the key as api_key"
        )
    if keyed and not is_safe(url, allow_insecure=settings.allow_insecure):
        raise SettingsError(
            f"the chat endpoint at {host} is plain http, which would show the key to the "
            "network; use https, or set WHILEAI_ALLOW_INSECURE=1 if you must"
        )
    path = parts.path.rstrip("/").removesuffix("/chat/completions") or "/v1"
    return f"{scheme}://{parts.netloc}{path}"


def _ollama_url(host: str) -> str:
    """Return the address for what `OLLAMA_HOST` holds: often no scheme, sometimes no port."""
    url = host if "://" in host else f"http://{host}"
    parts = urlsplit(url)
    if parts.hostname in {"0.0.0.0", "::"}:  # noqa: S104 - what the server listens on
        url = url.replace(parts.hostname, "127.0.0.1")
    return url if urlsplit(url).port else f"{url.rstrip('/')}:11434"
