"""A few nights of the soak (`python -m benchmarks.soak` runs two hundred)."""

from __future__ import annotations

import pytest

from benchmarks import soak


@pytest.mark.timeout(300)
@pytest.mark.slow
def test_nights_with_faults_lose_double_and_leak_nothing(tmp_path, prefect_server):
    said: list[str] = []
    report = soak.soak(tmp_path / "soak", nights=5, seed=3, say=said.append)
    assert report.wrong == []
    assert report.account["nights"] == 5
    assert report.account["rows"] > 50
    assert sum(report.faults.values()) > report.faults["calm"]
    for name in ("own open files", "gate open files"):
        values = report.series.values[name]
        assert max(values[2:]) <= values[1] + 8
