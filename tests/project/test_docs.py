"""The pages say what is there: every operation, command and option."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

import whileai_core
from whileai_core import sync
from whileai_core.cli.main import build_parser

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
COMMAND = r"(?:gate key create|gate session create|gate serve|(?:quarantine|hf|runs) \w+|[\w-]+)"


def table_names(page):
    return re.findall(r"^\| `(\w+)` \|", (DOCS / page).read_text("utf-8"), re.MULTILINE)


def test_the_reference_lists_all_35_where_they_are():
    import tasks

    names = table_names("reference.md")
    assert len(names) == len(set(names)) == 35
    for name in names:
        assert callable(getattr(whileai_core, name))
        assert callable(getattr(sync, name))
        assert getattr(tasks, name).name == name
    for place in re.findall(
        r"`((?:whileai_core|tasks|flows)/[\w/.]+)`", (DOCS / "reference.md").read_text()
    ):
        assert (ROOT / place).exists(), place


def commands(parser, prefix=()):
    found = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, part in action.choices.items():
                inner = commands(part, (*prefix, name))
                found.update(inner or {" ".join((*prefix, name)): part})
    return found


def test_every_command_and_option_is_on_the_page():
    page = (DOCS / "cli.md").read_text("utf-8")
    known = commands(build_parser())
    assert set(known) == {
        re.match(COMMAND, entry)[0]
        for entry in re.findall(r"^\| `([^`]+)` \|", page.split("## nightly")[0], re.MULTILINE)
    }
    for action in known["nightly"]._actions:
        for option in action.option_strings:
            assert option in {"-h", "--help"} or f"`{option}" in page


def test_links_between_pages_lead_somewhere():
    for page in [*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *ROOT.glob("examples/*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("name", sorted(whileai_core.__all__))
def test_every_public_name_is_documented(name):
    assert (getattr(whileai_core, name).__doc__ or "").strip()
