"""The key, its file, and what happens without the libraries."""

from __future__ import annotations

import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from whileai_core.errors import MissingExtra, SettingsError, StoreError
from whileai_core.redaction import Redactor, credentials
from whileai_core.redaction.keyfile import read_or_create
from whileai_core.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path


def test_the_key_is_born_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "new" / "home")
    first = Redactor.from_home(settings).text("jane@corp.com")
    path = settings.home / "redaction.key"

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert Redactor.from_home(settings).text("jane@corp.com") == first
    assert [child.name for child in settings.home.iterdir()] == ["redaction.key"]


def test_many_starts_at_once_agree_on_one_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(read_or_create, [tmp_path / "key"] * 32))

    assert len(keys) == 1


@pytest.mark.parametrize("content", ["", "short", "zz" * 32, "ab" * 8])
def test_a_damaged_key_file_is_refused_not_replaced(tmp_path: Path, content: str) -> None:
    (tmp_path / "redaction.key").write_text(content)

    with pytest.raises(StoreError, match="holds no redaction key"):
        Redactor.from_home(Settings(home=tmp_path))
    assert (tmp_path / "redaction.key").read_text() == content


def test_an_unusable_home_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")

    with pytest.raises(StoreError, match="redaction.key"):
        Redactor.from_home(Settings(home=tmp_path / "file"))


def test_short_keys_and_unknown_kinds_are_refused() -> None:
    with pytest.raises(SettingsError, match="16 bytes"):
        Redactor(b"short")
    with pytest.raises(SettingsError, match="unknown kinds shoe-size"):
        Redactor(b"k" * 32, kinds=["email", "shoe-size"])


@pytest.mark.parametrize("module", ["phonenumbers", "detect_secrets.plugins.aws"])
def test_a_missing_library_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    credentials.provider_patterns.cache_clear()
    monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(MissingExtra, match=r"whileai-pipelines\[redaction\].*'\.\[redaction\]'"):
        Redactor(b"k" * 32)
    Redactor(b"k" * 32, kinds=["email", "card"])


def test_a_redactor_does_not_show_its_key() -> None:
    assert "kkkk" not in repr(vars(Redactor(b"k" * 32)))
