from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from whileai_core.traces.policy import policy_clauses

pieces = st.sampled_from(
    [
        "You are a clerk.",
        "Never lie.",
        "# Money",
        "- Refund once; ask first, please.",
        "Tone: be kind.",
        "\n\n",
        "\n",
        " ",
        "x" * 130,
        "Refund at most 100 EUR!",
        "3) Log all.",
        "a; b",
    ]
)


@given(
    st.one_of(st.text(max_size=300), st.lists(pieces, max_size=12).map("".join)), st.integers(0, 5)
)
def test_clauses_are_tidy_distinct_and_capped(policy, cap):
    clauses = policy_clauses(policy)
    assert all(8 <= len(clause) <= 120 for clause in clauses)
    assert all(clause == " ".join(clause.split()) for clause in clauses)
    assert len({clause.lower() for clause in clauses}) == len(clauses)
    assert policy_clauses(policy, cap) == clauses[:cap]
    words = set(policy.split())
    assert all(set(clause.split()[1:-1]) <= words for clause in clauses)


def test_paragraphs_lists_labels_and_sentences_are_cut():
    policy = (
        "You are the desk agent. Stay polite always.\n\n# Refunds\n- Refund once only; ask for the "
        "number first.\nTone: be brief and kind.\nNever guess. Always verify."
    )
    assert policy_clauses(policy) == [
        "Stay polite always.",
        "Refund once only",
        "ask for the number first.",
        "Tone: be brief and kind.",
        "Never guess.",
        "Always verify.",
    ]


def test_a_tiny_sentence_keeps_its_neighbours():
    assert policy_clauses("Never guess a price. No. Always verify it.") == [
        "Never guess a price. No. Always verify it."
    ]
