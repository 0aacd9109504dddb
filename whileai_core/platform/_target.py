"""Where a call goes: the hosted platform, a gate elsewhere, or the embedded gate."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from whileai_core.errors import NotAuthenticated, SettingsError
from whileai_core.platform.credentials import ApiKey, Credential, find_credential

if TYPE_CHECKING:
    from whileai_core.settings import Settings

HOSTED_URL = "https://api.zeroproofai.com"
# One platform under several names: what a login stored as one of these is good for the others.
_HOSTED_ORIGINS = frozenset({HOSTED_URL, "https://api.while.ai", "https://api.withwhile.com"})


@dataclass(frozen=True, slots=True)
class Target:
    """A platform address and what it is called with; no address means the embedded gate."""

    base_url: str | None
    credential: Credential | None


def choose_target(settings: Settings, api_key: ApiKey, *, use_key: bool = True) -> Target:
    """Decide where a call goes, before anything is sent.

    A call that never carries a key (`use_key=False`) does not care whose the stored one is.

    Raises:
        NotAuthenticated: The credential cannot be sent, or is stored for another platform.
        SettingsError: The address is malformed, carries a user name, or is plain http.
    """
    credential = find_credential(settings, api_key)
    if settings.api_url is None and credential is None:
        return Target(None, None)
    if settings.api_url is not None:
        url, source = settings.api_url, "WHILEAI_API_URL"
    else:
        url, source = _home_of(credential), f"the api_url beside the key ({_source(credential)})"
    base_url = checked_base_url(url, source=source, allow_insecure=settings.allow_insecure)
    if use_key and credential is not None and credential.stored:
        _check_binding(credential, base_url)
    return Target(base_url, credential)


def _source(credential: Credential | None) -> str:
    return credential.source if credential is not None else "none"


def _home_of(credential: Credential | None) -> str:
    """Return the platform a credential belongs to; the hosted one unless it says otherwise."""
    stored = credential.api_url if credential is not None else None
    return HOSTED_URL if stored is None or _origin(stored) in _HOSTED_ORIGINS else stored


def _check_binding(credential: Credential, base_url: str) -> None:
    bound_to = _home_of(credential)
    origins = {_origin(bound_to), _origin(base_url)}
    if len(origins) == 1 or origins <= _HOSTED_ORIGINS:
        return
    raise NotAuthenticated(
        f"the key in {credential.source} belongs to {_origin(bound_to)}, but WHILEAI_API_URL names "
        f"{_origin(base_url)}; pass api_key= or set WHILEAI_API_KEY for that platform"
    )


def _origin(url: str) -> str:
    """Return the origin of an address as text, for comparing and for messages."""
    try:
        scheme, host, port = origin_of(url)
    except ValueError:
        return "a malformed address"
    usual = {"http": 80, "https": 443}.get(scheme)
    return f"{scheme}://{host}" if port == usual else f"{scheme}://{host}:{port}"


def checked_base_url(url: str, *, source: str, allow_insecure: bool) -> str:
    """Return the base URL without a final slash, or say what is wrong with it.

    Raises:
        SettingsError: See `choose_target`. A user name or password is never repeated.
    """
    url = url.strip()
    try:
        parts, (scheme, host, _) = urlsplit(url), origin_of(url)
    except ValueError:
        scheme, host = "", None
    if scheme not in {"http", "https"} or not host:
        raise SettingsError(f"{source} must look like https://host[:port][/path]")
    if "@" in parts.netloc:
        raise SettingsError(f"{source} holds a user name or password; use WHILEAI_API_KEY instead")
    if parts.query or parts.fragment:
        raise SettingsError(f"{source} must not have a query or a fragment")
    if not is_safe(url, allow_insecure=allow_insecure):
        raise SettingsError(
            f"{source} is plain http to {host}, which would show the key to the network; use "
            "https, or set WHILEAI_ALLOW_INSECURE=1 if you must"
        )
    return f"{scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def is_safe(url: str, *, allow_insecure: bool) -> bool:
    """Tell whether an address is https, or http that stays on this machine."""
    parts = urlsplit(url)
    return parts.scheme == "https" or allow_insecure or is_loopback(parts.hostname)


def is_loopback(host: str | None) -> bool:
    """Tell whether a host name is this machine by definition."""
    if host is None:
        return False
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def origin_of(url: str) -> tuple[str, str | None, int | None]:
    """Return scheme, host and port, with the default port filled in.

    Raises:
        ValueError: The port or an IPv6 host is malformed.
    """
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)
