"""Cases shared between projects, run where they lie beside the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared"
TOOLS, CASES = SHARED / "tools", SHARED / "cases"

pytestmark = pytest.mark.skipif(
    not (TOOLS.is_dir() and CASES.is_dir()), reason="no shared cases beside the checkout"
)


def run(*command: object) -> list[str]:
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "CORE_MODULE": "whileai_core"},
        check=False,
        capture_output=True,
        text=True,
        timeout=110,
        cwd=ROOT,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-2000:]
    return done.stdout.splitlines()


@pytest.mark.parametrize("folder", ["golden", "beyond"])
def test_recorded_answers(folder):
    last = run(TOOLS / "golden.py", CASES / folder, "--module", "whileai_core", "--extra-ok")[-1]
    assert last.endswith(", 0 failed")


def test_real_files():
    assert run(TOOLS / "real.py", "-v")[-1].endswith(", 0 failed")


def test_bug_reports():
    file = CASES / "bugs" / "test_bug_cases.py"
    run("-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", file.parent, file)
