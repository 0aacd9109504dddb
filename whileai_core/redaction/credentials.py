"""Secrets: provider keys, tokens, private keys, passwords in URLs and in key=value texts.

The patterns of `detect-secrets` are used for the providers it knows; only its compiled
expressions are touched, never its verification, which would call the providers.
"""

from __future__ import annotations

import base64
import re
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from whileai_core import jsonio
from whileai_core.errors import MissingExtra
from whileai_core.redaction.fields import Field, name
from whileai_core.redaction.hits import Hit, Shape

if TYPE_CHECKING:
    from collections.abc import Iterator

# Plugin module, class, and texts one of which every match contains.
_PLUGINS = (
    ("aws", "AWSKeyDetector", ("AKIA", "ASIA", "ABIA", "ACCA", "A3T")),
    ("discord", "DiscordBotTokenDetector", ("M", "N", "O")),
    ("github_token", "GitHubTokenDetector", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_")),
    ("gitlab_token", "GitLabTokenDetector", ("gl", "GR1348941")),
    ("mailchimp", "MailchimpDetector", ("-us",)),
    ("pypi_token", "PypiTokenDetector", ("pypi-",)),
    ("sendgrid", "SendGridDetector", ("SG.",)),
    ("slack", "SlackDetector", ("xox", "hooks.slack.com")),
    ("square_oauth", "SquareOAuthDetector", ("sq0csp-",)),
    ("stripe", "StripeDetector", ("k_live_",)),
    ("telegram_token", "TelegramBotTokenDetector", (":AA",)),
    ("twilio", "TwilioKeyDetector", ("AC", "SK")),
)
# Providers and newer token forms it does not know: prefix, then what follows it.
_PREFIXES = (
    ("sk-", r"(?=[\w-]{0,200}\d)[\w-]{20,}"),  # OpenAI, Anthropic, OpenRouter, Langfuse …
    ("github_pat_", r"\w{22,}"),
    ("hf_", r"[A-Za-z0-9]{30,}"),
    ("AIza", r"[\w-]{35}"),
    ("ya29.", r"[\w-]{20,}"),
    ("GOCSPX-", r"[\w-]{20,}"),
    ("sk_test_", r"[0-9A-Za-z]{16,}"),
    ("rk_test_", r"[0-9A-Za-z]{16,}"),
    ("whsec_", r"[0-9A-Za-z+/=]{20,}"),
    ("sq0atp-", r"[\w-]{20,}"),
    ("xapp-", r"[\w-]{20,}"),
    ("xox", r"[a-z](?:\.xox[a-z])?-[\w-]{10,}"),
    ("npm_", r"[A-Za-z0-9]{36}"),
    ("dop_v1_", r"[a-f0-9]{64}"),
    ("dapi", r"[a-f0-9]{32}(?:-\d)?"),
    ("gsk_", r"[A-Za-z0-9]{40,}"),
    ("xai-", r"[A-Za-z0-9]{40,}"),
    ("pplx-", r"[A-Za-z0-9]{32,}"),
    ("r8_", r"[A-Za-z0-9]{30,}"),
    ("tvly-", r"[\w-]{20,}"),
    ("lsv2_", r"(?:pt|sk)_[a-f0-9_]{30,}"),
    ("lin_api_", r"[A-Za-z0-9]{30,}"),
    ("ntn_", r"[A-Za-z0-9]{40,}"),
    ("shp", r"(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    ("PMAK-", r"[a-f0-9-]{40,}"),
    ("glsa_", r"\w{32,}"),
    ("hvs.", r"[\w-]{24,}"),
    ("sntrys_", r"[\w+/=-]{40,}"),
    ("pnu_", r"[A-Za-z0-9]{36}"),
)
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
    r"(?:[^\x00]{0,16384}?-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|[A-Za-z0-9+/=\s\\]*)"
)
_JWT = re.compile(r"eyJ(?:(?<![\w-]...)|(?<=\\[nrtbf]...))[\w-]{10,}\.[\w-]{10,}(?:\.[\w-]*){0,3}")
_BEARER = re.compile(
    r"\b[Bb](?:earer|EARER) +((?=[^\s\x00]*\d)[A-Za-z0-9._~+/-]{8,}=*|[A-Za-z0-9._~+/-]{20,}=*)"
)
_BASIC = re.compile(r"\b[Bb]asic +([A-Za-z0-9+/]{8,}={0,2})(?![\w+/=])")
_URL_PASSWORD = re.compile(r"://[^\s/:@\"'<>\x00]*:([^\s/\"'<>\x00]+)@(?=[\w\[])")
_KEY_WORDS = (
    *("pass", "pwd", "secret", "token", "authorization", "credential"),
    *("api_key", "apikey", "api-key", "api key", "access_key", "accesskey", "access-key"),
    *("private_key", "privatekey", "account_key", "accountkey", "auth_key", "signing_key"),
)
_KEY_VALUE = re.compile(
    r"(?:password|passwd|pwd|passphrase|passcode|(?<![A-Za-z])pass|secret|token|authorization|credentials?"
    r"|(?:api|access|private|account|auth|signing|secret)[_ -]?key)"
    r"(?:\\?[\"'])?[ \t]*(?P<sign>=>|:=|={1,2}|:|>|\bis\b)[ \t\n]*"
    r"(?:\\\"(?P<escaped>[^\"\\\x00]+)\\\""
    r"|\"(?P<double>(?:[^\"\\\x00]|\\.)+)\""
    r"|'(?P<single>[^'\n\x00]+)'"
    r"|(?P<bare>[^\s\"'<,;&\\\x00][^\s\"'<>,;&\\\x00]*))",
    re.IGNORECASE,
)
_OPTION = re.compile(
    r"--[\w-]*(?:password|passwd|passphrase|secret|token|api-?key|access-key)[ =]+"
    r"(?P<quote>[\"']?)(?P<value>[^\s\"'\x00-][^\s\"'\x00]{3,})(?P=quote)"
)
_CURL_USER = re.compile(
    r"\bcurl\b[^\n\x00]{0,300}? (?:-u|--user)[ =]?[\"']?[^\s:\"'\x00]+:([^\s\"'<\x00]+)"
)
_PLACEHOLDER = re.compile(
    r"<.*>|\W+|[xX]+|\$?\{.*|%\w+%|\[.*\]|null|none|true|false|undefined|string|required|optional"
    r"|hidden|masked|redacted|(?:your|my|insert|enter)[-_ ].*",
    re.IGNORECASE | re.DOTALL,
)
_NAME_OF_PHRASES = re.compile(r"pass|pwd|cookie|authorization", re.IGNORECASE)
_SHORTEST_SECRET = 4
_SHORTEST_BARE = 6
_SURELY_NO_WORD = 20
_LONGEST_NAME = 40


def find(text: str, shape: Shape, *, issuers: bool = True) -> Iterator[Hit]:
    """Report the secrets known by their own form, the surest first.

    Args:
        text: The text.
        shape: Its outline.
        issuers: Look for the tokens of known providers too, which needs `detect-secrets`.
    """
    if "-----BEGIN" in text:
        yield from _whole(_PRIVATE_KEY, text, "private-key")
    if "eyJ" in text:
        yield from _tokens(_JWT, text, "jwt")
    if issuers and shape.tokens:
        for needle, pattern in provider_patterns():
            if needle in shape.tokens:
                yield from _tokens(pattern, text)
    if "earer" in text or "EARER" in text:
        yield from (_credential(match, 1) for match in _BEARER.finditer(text))
    if "asic " in text:
        yield from (_credential(m, 1) for m in _BASIC.finditer(text) if _is_user_password(m[1]))
    if "://" in text and "@" in text:
        yield from (_credential(match, 1) for match in _URL_PASSWORD.finditer(text))
    if "curl" in text:
        yield from (_credential(match, 1) for match in _CURL_USER.finditer(text))


def find_key_values(text: str) -> Iterator[Hit]:
    """Report the values in texts such as `password=…`, `"api_key": "…"`, `token: …`."""
    lowered = text.lower()
    if not any(word in lowered for word in _KEY_WORDS):
        return
    if "--" in text:
        for match in _OPTION.finditer(text):
            if not _PLACEHOLDER.fullmatch(match["value"]):
                yield Hit(*match.span("value"), "secret", match["value"], "credential")
    for match in _KEY_VALUE.finditer(text):
        group = str(match.lastgroup)
        value = match[group]
        key = _full_name(text, match)
        if name(key).field is not Field.SECRET or not _is_value(key, value, match):
            continue
        if group == "double" and "\\" in value:
            value = _unescaped(value)
        yield Hit(*match.span(group), "secret", value, "credential")


def is_field_secret(key: object, value: str) -> bool:
    """Tell whether the value of a field with a secret's name is one, not a word about one."""
    if len(value) < _SHORTEST_SECRET or _PLACEHOLDER.fullmatch(value):
        return False
    return not any(map(str.isspace, value)) or _NAME_OF_PHRASES.search(str(key)) is not None


@cache
def provider_patterns() -> list[tuple[bytes, re.Pattern[str]]]:
    """Return the expressions for providers' tokens, each with bytes that every match contains.

    Raises:
        MissingExtra: `detect-secrets` is not installed.
    """
    patterns: list[tuple[bytes, re.Pattern[str]]] = []
    try:
        for module, plugin, needles in _PLUGINS:
            found = getattr(import_module(f"detect_secrets.plugins.{module}"), plugin)
            # The second AWS pattern wants a variable name and quotes; fields cover it.
            denylist = tuple(found.denylist)[: 1 if module == "aws" else None]
            patterns += [(needle.encode(), pattern) for needle in needles for pattern in denylist]
    except ImportError as error:
        raise MissingExtra.named(
            "redaction", "redaction needs the package detect-secrets"
        ) from error
    patterns += [
        (prefix.encode(), re.compile(re.escape(prefix) + rest)) for prefix, rest in _PREFIXES
    ]
    return patterns


def _tokens(pattern: re.Pattern[str], text: str, form: str = "api-key") -> Iterator[Hit]:
    """Matches that start a word, drawn out to the end of that word."""
    end = 0
    for match in pattern.finditer(text):
        if match.start() < end:
            continue
        start, end = match.span()
        before = text[max(0, start - 2) : start]
        if before[-1:].isalnum() and before not in ("\\n", "\\r", "\\t"):
            continue
        while end < len(text) and (text[end].isalnum() or text[end] in "_-"):
            end += 1
        yield Hit(start, end, "secret", text[start:end], form)


def _whole(pattern: re.Pattern[str], text: str, form: str) -> Iterator[Hit]:
    for match in pattern.finditer(text):
        yield Hit(*match.span(), "secret", match[0], form)


def _credential(match: re.Match[str], group: int) -> Hit:
    return Hit(*match.span(group), "secret", match[group], "credential")


def _is_user_password(encoded: str) -> bool:
    try:
        return b":" in base64.b64decode(encoded + "=" * (-len(encoded) % 4))
    except ValueError:
        return False


def _full_name(text: str, match: re.Match[str]) -> str:
    """Return the whole name before the sign: `next_page_token`, not `token`."""
    begin = match.start()
    first = begin
    while (
        first
        and begin - first < _LONGEST_NAME
        and (text[first - 1].isalnum() or text[first - 1] in "_-")
    ):
        first -= 1
    return text[first : match.start("sign")].strip(" \t\n\\\"'")


def _is_value(key: str, value: str, match: re.Match[str]) -> bool:
    if match["bare"] is None:
        return is_field_secret(key, value)
    if _PLACEHOLDER.fullmatch(value) or "(" in value or "[" in value or "{" in value:
        return False
    if match["sign"] == "=" and not _is_spaced(match):
        return len(value) >= _SHORTEST_SECRET
    has_digits = any(map(str.isdigit, value))
    return len(value) >= (_SHORTEST_BARE if has_digits else _SURELY_NO_WORD)


def _is_spaced(match: re.Match[str]) -> bool:
    """Tell whether white space stands between the sign and the value: prose or source code."""
    return match.end("sign") != match.start("bare")


def _unescaped(value: str) -> str:
    try:
        return str(jsonio.loads(f'"{value}"'))
    except ValueError:
        return value
