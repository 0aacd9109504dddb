"""Spans of one conversation that lie in several files."""

from __future__ import annotations

import json

from span_kit import otlp, span

from whileai_core.dialects.load import load_all


def test_several_files_are_one_source(tmp_path):
    model = span(
        1,
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.input.messages": json.dumps(
                [{"role": "user", "parts": [{"type": "text", "content": "Where is PK-1?"}]}]
            ),
            "gen_ai.output.messages": json.dumps(
                [{"role": "assistant", "parts": [{"type": "text", "content": "In Lyon."}]}]
            ),
        },
    )
    tool = span(2, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "track_parcel"})
    paths = []
    for name, one in (("a.json", tool), ("b.json", model)):
        path = tmp_path / name
        path.write_text(json.dumps(otlp(one)))
        paths.append(str(path))
    [row] = load_all([*paths, paths[0]])
    assert row["prompt"] == "Where is PK-1?"
    assert [step["tool"] for step in row["steps"] if "tool" in step] == ["track_parcel"]
