from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whileai_core import leakage_report
from whileai_core.traces import nearcopies
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


def test_blocks_of_texts_do_not_change_what_follows(monkeypatch):
    anchors = ["Cancel order 17", "Track my parcel"]
    lines = ["cancel order 17 please", "pay rent", "track my parcell", "Cancel Order 17"]
    whole = near_copies(lines, anchors)
    monkeypatch.setattr(nearcopies, "_TEXTS_AT_ONCE", 2)
    assert near_copies(lines, anchors) == whole == {0: 0, 2: 1, 3: 0}
