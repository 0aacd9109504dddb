"""Rows as hypothesis draws them: mostly ordinary, now and then odd."""

from __future__ import annotations

from hypothesis import strategies as st

words = st.sampled_from(["cancel", "order", "A-17", "refund", "now", "7731", "Graz", "please"])
asks = st.lists(words, max_size=4).map(" ".join)
results = st.one_of(
    st.none(),
    st.sampled_from(
        [
            {"status": "ok", "id": "A-17"},
            {"status": "timeout"},
            {"status": "paid"},
            {"error": None},
            {"error": "boom"},
            {"stale": True},
            "Error: no such thing",
            "fine",
            '{"status": "denied"}',
            [1, 2],
            7,
        ]
    ),
)
steps = st.one_of(
    st.fixed_dictionaries(
        {
            "tool": st.sampled_from(["find", "pay"]),
            "arguments": st.dictionaries(st.sampled_from(["id", "n"]), words, max_size=2),
            "result": results,
        }
    ),
    st.fixed_dictionaries({"user": asks}),
    st.fixed_dictionaries({"text": asks}),
)
rows = st.fixed_dictionaries(
    {"prompt": asks, "steps": st.lists(steps, max_size=4), "final_text": asks},
    optional={
        "reward": st.sampled_from([0, 1, None, True, 0.5, float("nan"), "0"]),
        "qwen_reward": st.sampled_from([0, 1]),
        "scenario_id": st.sampled_from(["s1", "s2", 0, ""]),
        "world_state": st.sampled_from(["entity missing", "unknown", " entity missing "]),
    },
)
items = st.one_of(rows, rows, rows, st.sampled_from([None, 3, "text"]))
