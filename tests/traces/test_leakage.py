from __future__ import annotations

import itertools
import math
import random
import re
from collections import Counter
from hashlib import blake2b

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whileai_core import drop_leaky_rows, leakage_report
from whileai_core.traces import blocks, screening
from whileai_core.traces.hashwords import HashEmbedder

texts = st.lists(
    st.sampled_from(["cancel", "order", "4473", "99", "the", "Refund", "now!", "x-ray", "", "and"]),
    max_size=7,
).map(" ".join)


def reference_vector(text):
    """The hash embedder, word for word from its description."""
    words = ["<num>" if w.isdigit() else w for w in re.findall(r"[a-z]+|\d+", text.lower())]
    tokens = [f"w:{w}" for w in words]
    tokens += [f"b:{a}>{b}" for a, b in itertools.pairwise(words)]
    return Counter(
        int.from_bytes(blake2b(t.encode(), digest_size=8).digest(), "big") % 256 for t in tokens
    )


def reference_cosine(a, b):
    norms = math.sqrt(sum(v * v for v in a.values()) * sum(v * v for v in b.values()))
    return sum(v * b[k] for k, v in a.items()) / norms if norms else 0.0


def reference_report(generated, sources, threshold):
    sources = [(place, text.strip()) for place, text in enumerate(sources) if text.strip()]
    flags, best = [], 0.0
    for text in (text.strip() for text in generated):
        vector = reference_vector(text)
        top = max((reference_cosine(vector, reference_vector(s)) for _, s in sources), default=0.0)
        if text and any(
            " ".join(text.lower().split()) == " ".join(s.lower().split()) for _, s in sources
        ):
            top = 1.0
        flags.append(bool(sources) and top >= min(threshold, 1.0) - 1e-12)
        best = max(best, top)
    return flags, best


@settings(max_examples=150)
@given(
    st.lists(texts, max_size=8),
    st.lists(texts, max_size=8),
    st.sampled_from([0.3, 0.5, 0.9, 1.0, 5.0]),
)
def test_agrees_with_the_plain_reading_of_all_pairs(generated, sources, threshold):
    flags, best = reference_report(generated, sources, threshold)
    report = leakage_report(generated, sources, threshold=threshold, examples=99)
    assert [entry["row"] for entry in report["leaky"]] == [
        i for i, flag in enumerate(flags) if flag
    ]
    assert report["n_leaky"] == sum(flags)
    assert report["max_similarity"] == pytest.approx(best, abs=1e-12)
    kept, dropped = drop_leaky_rows(iter(generated), sources, threshold=threshold, examples=99)
    assert kept == [text for text, flag in zip(generated, flags, strict=True) if not flag]
    assert dropped == {**report, "n_dropped": sum(flags)}


def test_blocks_do_not_change_the_answer(monkeypatch):
    words = [f"word{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(60)]
    generated = [" ".join(words[n : n + 6]) for n in range(50)]
    sources = [" ".join(words[n : n + 7]) for n in range(0, 50, 3)]
    whole = leakage_report(generated, sources, threshold=0.8, examples=99)
    monkeypatch.setattr(blocks, "ROWS", 3)
    monkeypatch.setattr(blocks, "SOURCES", 4)
    assert leakage_report(generated, sources, threshold=0.8, examples=99) == whole
    assert 0 < whole["n_leaky"] < 50


def test_a_cosine_exactly_on_the_threshold_is_flagged():
    def vectors(texts):
        return [[3.0, 4.0] if "a" in text else [1.0, 0.0] for text in texts]

    assert leakage_report(["a"], ["b"], threshold=0.6, embedder=vectors)["n_leaky"] == 1
    assert leakage_report(["a"], ["b"], threshold=0.6 + 1e-9, embedder=vectors)["n_leaky"] == 0
    doubled = "pay the bill pay the bill pay"
    assert leakage_report([doubled], [doubled + "!"], threshold=1.0)["n_leaky"] == 1


def test_ties_go_to_the_first_source_and_positions_are_as_given():
    entry = leakage_report(["cancel order 1"], ["", "x", "Cancel order 2", "order cancel"])[
        "leaky"
    ][0]
    assert (entry["row"], entry["source"], entry["similarity"]) == (0, 2, 1.0)
    nested = [["", "nothing alike"], ({"prompt": "Cancel order 7"}, "Cancel order 1")]
    assert leakage_report(["cancel  ORDER 1"], nested)["leaky"][0]["source"] == 3


def test_evidence_shows_both_texts_cut():
    entry = leakage_report(["Pay " + "x" * 500], ["pay " + "x" * 500])["leaky"][0]
    assert entry["text"].startswith("Pay xx")
    assert len(entry["source_text"]) == 200


@pytest.mark.parametrize(
    ("generated", "source", "leaky"),
    [
        ("请帮我取消订单四四七三并退款谢谢", "请帮我取消订单四四七三并且退款谢谢", 1),
        ("Отмените заказ 4473", "Погода на 15 мая", 0),
        ("Отмените мой заказ пожалуйста", "отмените мой ЗАКАЗ, пожалуйста", 1),
        ("ยกเลิกคำสั่งซื้อของฉัน", "ยกเลิกคำสั่งซื้อของฉันที", 1),
        ("मेरा ऑर्डर रद्द करें", "मौसम कैसा है आज", 0),
        ("Is the cafe\u0301 open?", "is the caf\u00e9 open?", 1),
        ("Fix my\u00a0bike\u2019s \u201cbrake\u201d", 'fix my bike\'s "brake"', 1),
        ("ＣＡＮＣＥＬ order", "cancel order", 1),
    ],
)
def test_other_scripts_and_unicode_forms(generated, source, leaky):
    assert leakage_report([generated], [source])["n_leaky"] == leaky


def test_rows_in_every_spelling_are_read():
    copies = [
        {"question": "Cancel order 9"},
        {"messages": [{"role": "user", "content": "Cancel order 9"}]},
        {"prompt": "cancel ORDER 9"},
        "Cancel order 9",
    ]
    assert leakage_report(copies, {"input": "Cancel order 9"})["n_leaky"] == 4
    assert leakage_report(copies[1], iter(copies))["n"] == 1
    kept, report = drop_leaky_rows(iter([*copies, {"prompt": "Rent a boat"}]), copies)
    assert kept == [{"prompt": "Rent a boat"}]
    assert report["n_dropped"] == 4


def test_rows_without_an_ask_are_no_copies_of_one_another():
    rows = [{"prompt": ""}, {"prompt": "  "}, None]
    assert drop_leaky_rows(rows, [{"prompt": ""}, "Ring me"])[0] == rows


def test_embedders_that_do_not_fit_are_refused():
    def short(texts):
        return [[1.0, 0.0] for _ in texts[1:]]

    def ragged(texts):
        return [[1.0] * (n + 1) for n, _ in enumerate(texts)]

    def by_length(texts):
        return [[1.0] * len(texts) for _ in texts]

    def not_a_number(texts):
        return [[math.nan] for _ in texts]

    for embedder in (short, ragged, by_length, not_a_number):
        with pytest.raises(ValueError, match="embedder"):
            leakage_report(["a b", "c"], ["d", "e f", "g"], embedder=embedder)
    with pytest.raises(TypeError, match="embedder"):
        leakage_report(["a"], ["b"], embedder=7)
    for name in ("word2vec", "openai:some-model"):
        with pytest.raises(ValueError, match=name.partition(":")[0]):
            leakage_report(["a"], ["b"], embedder=name)
    assert leakage_report(["a"], [], embedder=7)["n_leaky"] == 0


def test_extreme_vectors_are_compared_by_direction():
    def extreme(texts):
        return [[1e300, 1e300] if "a" in text else [1e-300, 1e-300] for text in texts]

    assert leakage_report(["a"], ["b"], embedder=extreme)["max_similarity"] == pytest.approx(1.0)


def test_a_threshold_must_be_a_number():
    with pytest.raises(ValueError, match="threshold"):
        leakage_report(["a"], ["a"], threshold=math.nan)
    assert leakage_report(["a b"], ["A  b"], threshold=7)["n_leaky"] == 1


@given(st.lists(texts, min_size=1, max_size=6))
def test_hash_vectors_are_the_described_counts(lines):
    counts = HashEmbedder().embed(lines)
    for line, row in zip(lines, counts, strict=True):
        assert {b: v for b, v in enumerate(row.tolist()) if v} == dict(reference_vector(line))
    assert counts.dtype == np.float32


@pytest.mark.parametrize("threshold", [0.5, 0.9, 0.999])
def test_screening_by_a_bound_changes_no_answer(monkeypatch, threshold):
    rng = random.Random(3)
    words = [
        f"{rng.choice('abcdef')}{rng.choice('aeiou')}{n}x".replace("1", "q") for n in range(90)
    ]
    sources = [" ".join(rng.choices(words, k=12)) for _ in range(120)]
    generated = [" ".join(rng.choices(words, k=12)) for _ in range(120)]
    generated[::9] = [text + " " + words[0] for text in sources[::9]]
    full = leakage_report(generated, sources, threshold=threshold, examples=99)
    monkeypatch.setattr(screening, "pays", lambda rows, against: True)
    monkeypatch.setattr(blocks, "ROWS", 16)
    screened = leakage_report(generated, sources, threshold=threshold, examples=99)
    assert screened.pop("max_similarity") == pytest.approx(full.pop("max_similarity"), abs=1e-12)
    assert screened == full


def test_bounds_are_never_below_the_cosine():
    rng = np.random.default_rng(1)
    rows = rng.poisson(0.3, (50, 256)).astype(np.float32)
    sources = blocks.unit(np.vstack([rows[:10], rng.poisson(0.2, (200, 256))]).astype(np.float32))
    cosines = (blocks.unit(rows) @ sources.T).max(axis=1)
    screen = screening.Screen(sources)
    for kept in screening.LEVELS:
        assert (screen.upper_bounds(rows, kept) >= cosines - screening.SLACK).all()
