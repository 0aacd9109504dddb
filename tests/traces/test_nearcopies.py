from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from whileai_core import leakage_report
from whileai_core.traces import grouped
from whileai_core.traces.identifiers import alike
from whileai_core.traces.nearcopies import near_copies
from whileai_core.traces.ngrams import NgramEmbedder

ASK = "Please cancel the late order A-4473 in Lisbon because the label was torn"


def similarity(one, other):
    return leakage_report([one], [other], embedder="ngram")["max_similarity"]


@pytest.mark.parametrize(
    "copy",
    [
        ASK.upper(),
        ASK + "!!",
        "Hi there, could you " + ASK[0].lower() + ASK[1:] + ", thanks",
        "Because the label was torn please cancel the late order A-4473 in Lisbon",
        ASK.replace("cancel", "cancle"),
        ASK.replace("label", "lable").replace("  ", " "),
        ASK.replace("A-4473", "#A-4473"),
    ],
)
def test_near_copies_are_near(copy):
    assert similarity(copy, ASK) >= 0.9


@pytest.mark.parametrize(
    "sibling",
    [
        ASK.replace("4473", "9911"),
        ASK.replace("cancel", "refund"),
        ASK.replace("Lisbon", "Osaka"),
        ASK.replace("A-4473", "A-4473 and A-5512"),
        ASK.replace("A-4473", ""),
        "Refund order A-4473",
    ],
)
def test_siblings_from_one_template_are_not(sibling):
    assert similarity(sibling, ASK) < 0.9


def test_identifiers_are_found_in_scripts_without_spaces():
    assert similarity("取消订单4473", "取消订单 4473。") == pytest.approx(1.0)
    assert similarity("取消订单4473", "取消订单9911") < 0.1
    assert similarity("Pay 59,90€ for #A-1.", "pay €59,90 for A-1") == pytest.approx(1.0)


def test_flags_and_evidence_agree_on_the_scale():
    report = leakage_report(
        ["cancel my order"], ["cancle my order"], embedder="ngram", threshold=0.0
    )
    exact = report["max_similarity"]
    for threshold, leaky in ((exact, 1), (exact + 1e-6, 0)):
        again = leakage_report(
            ["cancel my order"], ["cancle my order"], embedder="ngram", threshold=threshold
        )
        assert again["n_leaky"] == leaky
    assert report["leaky"][0]["similarity"] == round(exact, 4)


@given(st.lists(st.text(max_size=20), max_size=6))
def test_any_text_is_embedded_alike_twice(lines):
    first = NgramEmbedder().embed(lines)
    assert (first == NgramEmbedder().embed(lines)).all()
    assert first.shape == (len(lines), 512)


def test_texts_follow_the_nearest_anchor():
    anchors = ["Cancel order 17", "Track my parcel", "Renew the lease now"]
    lines = [
        "track my PARCEL please",
        "cancel order 18",
        "",
        "pls cancel order 17",
        "renew the lease",
    ]
    found = near_copies(lines, anchors)
    assert {0: 1, 3: 0}.items() <= found.items()
    assert 1 not in found
    assert 2 not in found
    assert near_copies(lines, []) == {}


WORDS = ("cancel", "cancle", "refund", "order", "orders", "my", "please", "the", "late", "tickets")
asks = st.builds(
    lambda words, numbers, mark: " ".join([*words, *(f"n{n}" for n in numbers)]) + mark,
    st.lists(st.sampled_from(WORDS), max_size=5),
    st.lists(st.integers(1, 13), max_size=12),
    st.sampled_from(["", "!", " ?"]),
)


def full_comparison(lines, anchors):
    """All similarities: squared cosine of the words, times the squared share of identifiers."""

    def parts(texts):
        vectors = NgramEmbedder().embed(texts).astype(np.float64)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        sets = [set(re.findall(r"n\d+", text)) for text in texts]
        return vectors / np.where(lengths == 0, 1, lengths), sets

    (ours, our_sets), (theirs, their_sets) = parts(lines), parts(anchors)
    shares = [
        [len(a & b) ** 2 / (len(a) * len(b)) if a and b else float(a == b) for b in their_sets]
        for a in our_sets
    ]
    return np.maximum(ours @ theirs.T, 0) ** 2 * np.array(shares)


@pytest.mark.parametrize("pairs_per_text", [4, 0])
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lines=st.lists(asks, min_size=1, max_size=12),
    anchors=st.lists(asks, min_size=1, max_size=12),
    threshold=st.sampled_from([0.01, 0.5, 0.64, 0.8, 0.9, 0.95, 0.99]),
)
def test_flags_are_those_of_the_full_comparison(
    monkeypatch, pairs_per_text, lines, anchors, threshold
):
    monkeypatch.setattr(grouped, "_PAIRS_PER_TEXT", pairs_per_text)
    monkeypatch.setattr(grouped, "_AT_ONCE", 3)
    monkeypatch.setattr(grouped, "_PAIRS_AT_ONCE", 7)
    wanted = full_comparison(lines, anchors)
    exact = find_exact(lines, anchors)
    report = leakage_report(lines, anchors, threshold=threshold, embedder="ngram", examples=99)
    positions = [place for place, line in enumerate(lines) if line.strip()]
    leaky = {entry["row"]: entry for entry in report["leaky"]}
    for place in positions:
        if place in exact:
            assert leaky[place]["similarity"] == 1.0
        elif abs(wanted[place].max() - threshold) > 1e-9:
            assert (place in leaky) == (wanted[place].max() >= threshold)
        if place in leaky and place not in exact:
            assert leaky[place]["similarity"] == pytest.approx(wanted[place].max(), abs=1e-4)
            assert wanted[place][leaky[place]["source"]] >= threshold - 1e-6
    if leaky and not exact:
        assert report["max_similarity"] == pytest.approx(wanted.max())


def find_exact(lines, anchors):
    known = {" ".join(text.lower().split()) for text in anchors if text.strip()}
    return {place for place, text in enumerate(lines) if " ".join(text.lower().split()) in known}


@given(
    st.sets(st.frozensets(st.integers(0, 14), max_size=14), max_size=12),
    st.sets(st.frozensets(st.integers(0, 14), max_size=14), max_size=12),
    st.sampled_from([1e-6, 0.3, 0.5**0.5, 0.8, 0.9**0.5, 0.95, 1.0]),
)
def test_no_pair_of_sets_that_share_enough_is_missed(ones, others, least):
    def written(held):
        return " ".join(sorted(map(str, held)))

    wanted = {
        (written(a), written(b))
        for a in ones
        for b in others
        if a == b or (a & b and len(a & b) / (len(a) * len(b)) ** 0.5 >= least - 1e-9)
    }
    found = list(alike(dict.fromkeys(map(written, ones)), set(map(written, others)), least))
    assert {(pair.one, pair.other) for pair in found} == wanted
    assert len(found) == len(wanted)


def test_short_asks_about_other_numbers_are_never_copies():
    # With hashed signs instead of sets one pair in some hundreds would agree by chance.
    lines = [f"go {n}" for n in range(1000, 1200)]
    assert near_copies(lines, [f"go {n}" for n in range(2000, 2200)]) == {}


def test_equal_texts_get_the_same_anchor_and_the_first_of_equals():
    anchors = ["Renew 3", "track  my parcel!", "track my, parcel"]
    assert near_copies(["track my parcel"] * 3, anchors) == {0: 1, 1: 1, 2: 1}
    assert near_copies(["???", "4473?", "order 4473"], ["!!!", "4473"]) == {1: 1}


def test_a_pasted_blob_costs_no_more_than_its_size():
    import tracemalloc

    blob = "x" * 3_000_000
    tracemalloc.start()
    found = near_copies([f"read this {blob}", f"read that {blob[1:]}"], [f"Read this, {blob}"])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == {0: 0}
    assert peak < 30 * len(blob)
