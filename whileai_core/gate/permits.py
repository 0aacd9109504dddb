"""Keys and presigned addresses: how they are made and how they are checked.

Keys carry 256 random bits, so one round of SHA-256 is all the hashing they need.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import time

KEY_PREFIX = "zp_"
DELEGATED_PREFIX = "zp_dc_"
SESSION_PREFIX = "zp_st_"
BROWSER_PREFIX = "zp_br_"
_RENEW_SHARE = 0.1


def new_key(prefix: str = KEY_PREFIX) -> str:
    """Return a fresh secret of 256 random bits behind the prefix."""
    return prefix + secrets.token_urlsafe(32)


def digest(key: str) -> str:
    """Return what is stored instead of the key."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()


class Signer:
    """Makes and checks the parts of addresses that are permissions by themselves."""

    def __init__(self, secret: str) -> None:
        self._secret = bytes.fromhex(secret)

    def embedded_key(self) -> str:
        """Return the key of the embedded account: derived, so that it is stored nowhere."""
        return KEY_PREFIX + self._mac("embedded key")

    def credential(self, account: str, idempotency_key: str) -> str:
        """Return the delegated credential that a repeated request to issue one gets again."""
        return DELEGATED_PREFIX + self._mac(f"credential:{account}:{idempotency_key}")

    def token(self, kind: str, subject: str, expires_at: int) -> str:
        """Return a token for one use (`kind`) of one thing until a Unix time in seconds."""
        return f"{subject}.{expires_at:x}.{self._mac(f'{kind}:{subject}:{expires_at}')}"

    def subject(self, kind: str, token: str) -> str | None:
        """Return what a token is for; None when it is forged, expired or for another use."""
        try:
            subject, expiry, mac = token.split(".")
            expires_at = int(expiry, 16)
        except ValueError:
            return None
        expected = self._mac(f"{kind}:{subject}:{expires_at}")
        if not hmac.compare_digest(mac.encode(), expected.encode()):
            return None
        return subject if time.time() < expires_at else None

    def _mac(self, message: str) -> str:
        mac = hmac.digest(self._secret, message.encode(), "sha256")
        return base64.urlsafe_b64encode(mac).rstrip(b"=").decode("ascii")


def expiry(since: int, life: int) -> int:
    """Return when an address made now stops working, in Unix seconds.

    Counted from `since` (the creation of the thing, Unix seconds) while enough of that life is
    left, so that a repeated request gets the same address; afterwards from now.
    """
    now = int(time.time())
    first = since + life
    return first if first - now > life * _RENEW_SHARE else now + life
