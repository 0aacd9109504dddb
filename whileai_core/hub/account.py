"""Which Hugging Face account is connected: from the environment, or stored in the home folder."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pydantic import SecretStr

from whileai_core import jsonio
from whileai_core.atomic import write_atomic
from whileai_core.errors import InputError, SettingsError, StoreError
from whileai_core.settings import get_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whileai_core.settings import Settings

HUB = "https://huggingface.co"
NOT_CONNECTED = (
    "no Hugging Face account is connected: set HF_TOKEN or run `whileai-pipelines hf connect`"
)
_TOKEN = re.compile(r"[!-~]{8,400}")
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}

# A token handed over by the code that runs this process; never written anywhere.
_handed_over: list[SecretStr] = []


@dataclass(frozen=True)
class Account:
    """A token and the Hub it is for."""

    token: SecretStr
    endpoint: str


def find_account(settings: Settings | None = None) -> Account | None:
    """Return the connected account: handed over, `HF_TOKEN`, stored; None when there is none.

    Raises:
        SettingsError: The endpoint or the stored file cannot be used.
    """
    settings = settings or get_settings()
    endpoint = endpoint_of(settings)
    if _handed_over:
        return Account(_handed_over[-1], endpoint)
    if settings.hf_token is not None:
        return Account(SecretStr(checked_token(settings.hf_token.get_secret_value())), endpoint)
    stored = _read(_file(settings))
    # A stored token goes to the Hub it was stored for, and to no other.
    if stored is None or stored.endpoint != endpoint:
        return None
    return stored


def endpoint_of(settings: Settings | None = None) -> str:
    """Return the address of the Hub.

    Raises:
        SettingsError: It is no address a token may be sent to.
    """
    settings = settings or get_settings()
    endpoint = (settings.hf_endpoint or HUB).rstrip("/")
    parts = urlsplit(endpoint)
    if parts.scheme not in {"http", "https"} or not parts.hostname or "@" in parts.netloc:
        raise SettingsError("HF_ENDPOINT is no address like https://huggingface.co")
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK and not settings.allow_insecure:
        raise SettingsError(
            f"HF_ENDPOINT would send the token to {parts.hostname} unencrypted; use https, or set "
            "WHILEAI_ALLOW_INSECURE=1"
        )
    return endpoint


def store(token: str, settings: Settings | None = None) -> Path:
    """Keep a token in the home folder, readable by its owner only; return the file."""
    settings = settings or get_settings()
    path = _file(settings)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    content = {"endpoint": endpoint_of(settings), "token": checked_token(token)}
    write_atomic(path, jsonio.dumps(content), mode=0o600)
    return path


def forget(settings: Settings | None = None) -> bool:
    """Delete the stored token; say whether there was one."""
    path = _file(settings or get_settings())
    there = path.exists()
    path.unlink(missing_ok=True)
    return there


@contextlib.contextmanager
def handed_over(token: str) -> Iterator[None]:
    """Use a token in this process for as long as the block lasts, before any other."""
    secret = SecretStr(checked_token(token))
    _handed_over.append(secret)
    try:
        yield
    finally:
        _handed_over.remove(secret)


def checked_token(token: str) -> str:
    """Return a token without white space around it.

    Raises:
        InputError: It cannot be a token; its text is not repeated.
    """
    token = token.strip()
    if not _TOKEN.fullmatch(token):
        raise InputError("that is no Hugging Face token; make one at https://hf.co/settings/tokens")
    return token


def _file(settings: Settings) -> Path:
    return settings.home / "huggingface.json"


def _read(path: Path) -> Account | None:
    try:
        content = jsonio.loads(path.read_bytes())
        return Account(SecretStr(checked_token(content["token"])), str(content["endpoint"]))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise SettingsError(
            f"{path} holds no usable token; run `whileai-pipelines hf connect` again"
        ) from None
