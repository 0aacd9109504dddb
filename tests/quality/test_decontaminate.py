from pathlib import Path
from typing import Any

import pytest

from whileai_core import jsonio
from whileai_core.errors import InputError
from whileai_core.quality import decontaminate

ASK = "Please cancel the blue bicycle order before it ships on Monday"
EVAL = [{"prompt": ASK, "task_id": "e9", "answer": "Cancelled, and refunded in full today"}]


def test_each_rule_catches_its_kind_once() -> None:
    rows = [
        {"prompt": f"please  CANCEL{ASK[13:]}!"},
        {"prompt": ASK.replace("Monday", "Tuesday")},
        {"prompt": "reword me", "task_id": "e9"},
        {"prompt": "cancelled, and refunded in full today."},
        {"prompt": "Where is my umbrella?"},
    ]
    kept, report = decontaminate(rows, EVAL)
    assert kept == rows[4:]
    assert (report.n_exact, report.n_near, report.n_same_task) == (2, 1, 1)
    assert report["by_field"] == {"prompt": 3, "task": 1}
    assert [example["row"] for example in report["examples"]] == [0, 1, 2, 3]


def test_half_a_text_is_near_only_when_any_run_counts() -> None:
    rows = [{"prompt": f"{ASK} and tell me all about the {'very ' * 10}large red one as well"}]
    assert decontaminate(rows, EVAL)[1]["n_near"] == 0
    assert decontaminate(rows, EVAL, overlap=0)[1]["n_near"] == 1


def test_runs_of_different_evaluation_texts_do_not_add_up() -> None:
    first, second = " ".join("abcdefghij"), " ".join("klmnopqrst")
    rows = [{"prompt": f"{first} {second}"}]
    assert decontaminate(rows, [{"prompt": first}, {"prompt": second}])[1]["n_near"] == 0


def test_short_texts_match_as_a_whole_only() -> None:
    rows = [{"prompt": "Where is my order"}, {"prompt": "Where is my order now"}]
    kept, _ = decontaminate(rows, [{"prompt": "where is my order?"}])
    assert kept == rows[1:]


def test_evaluation_sets_may_be_nested_or_files(tmp_path: Path) -> None:
    path = tmp_path / "eval.jsonl"
    path.write_bytes(jsonio.dumps(EVAL[0]) + b"\n")
    for against in ([EVAL], [[EVAL]], EVAL[0], path, [str(path)]):
        assert decontaminate([{"prompt": ASK}], against)[1]["n_exact"] == 1


def test_says_when_ids_cannot_be_compared() -> None:
    _, report = decontaminate([{"prompt": "a"}], [{"answer": "b"}])
    assert "same_task" in report["rules_skipped"]


def test_an_embedder_finds_other_words_for_the_same() -> None:
    rows = [{"prompt": "abc abc"}, {"prompt": "zzz"}]
    vectors = {"abc abc": [1.0, 0.0], "zzz": [0.0, 1.0], "cab": [1.0, 0.05]}
    kept, report = decontaminate(
        rows, [{"prompt": "cab"}], embedder=lambda texts: [vectors[text] for text in texts]
    )
    assert kept == rows[1:]
    assert report["n_semantic"] == 1


@pytest.mark.parametrize("options", [{"n": 0}, {"overlap": 1.5}, {"against": 3}, {"against": [4]}])
def test_impossible_arguments_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(InputError):
        decontaminate([{"prompt": "a"}], **{"against": EVAL, **options})  # type: ignore[arg-type]


LONG_ASK = "please cancel order five for my brother who lives in Graz"


@pytest.mark.parametrize("key", ["prompt", "question", "messages"])
@pytest.mark.parametrize("known", ["prompt", "question", "messages"])
def test_asks_are_read_under_every_key(key: str, known: str) -> None:
    def row(name: str) -> dict[str, Any]:
        messages = [{"role": "user", "content": LONG_ASK}]
        return {name: messages if name == "messages" else LONG_ASK}

    kept, report = decontaminate([row(key), {"prompt": "Rent a boat"}], [row(known)])
    assert (len(kept), report["n_exact"]) == (1, 1)


def test_missing_ids_are_no_task_in_common() -> None:
    nan = float("nan")
    kept, report = decontaminate(
        [{"prompt": "a", "task_id": nan}], [{"prompt": "b", "task_id": nan}]
    )
    assert (len(kept), report["n_same_task"]) == (1, 0)
