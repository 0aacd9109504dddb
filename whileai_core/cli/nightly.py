"""`nightly`: the whole night from the prompt, as a Prefect flow run; `forget-unfinished`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core.cli import arguments
from whileai_core.cli.output import emit
from whileai_core.cli.source_root import load_flow
from whileai_core.sources.discovery import shown
from whileai_core.urls import check_paths

if TYPE_CHECKING:
    import argparse


def add_commands(commands: Any) -> None:
    """Add this module's commands."""
    parser = commands.add_parser(
        "nightly",
        help="ingest traces, report, split, check for leakage and push",
        description="Take what is new under PATHS, turn it into rows, report, split by task, "
        "check the remainder for leaks, and push a training set with a linked holdout. A repeat "
        "takes nothing twice; after an interruption, the same command carries on.",
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files, folders, globs or URLs")
    parser.add_argument("--agent", required=True, type=arguments.agent, help="agent they come from")
    parser.add_argument(
        "--night", type=arguments.night, help="date of the night, YYYY-MM-DD (default: today, UTC)"
    )
    parser.add_argument(
        "--holdout",
        type=arguments.proper_share,
        default=0.2,
        metavar="SHARE",
        help="share of rows to hold out, by whole tasks (%(default)s)",
    )
    parser.add_argument("--seed", type=int, default=0, help="another seed, another choice")
    parser.add_argument(
        "--leak-threshold",
        type=arguments.proper_share,
        default=0.9,
        metavar="SIMILARITY",
        help="similarity from which an ask is a near copy (%(default)s)",
    )
    parser.add_argument(
        "--max-bad-share",
        type=arguments.share,
        default=0.05,
        metavar="SHARE",
        help="fail when more records than this are unreadable (%(default)s)",
    )
    parser.add_argument("--strict", action="store_true", help="fail when any record is unreadable")
    parser.add_argument(
        "--redact", action="store_true", help="replace secrets and personal data before storing"
    )
    parser.add_argument(
        "--gate",
        choices=["report", "enforce", "off"],
        default="report",
        help="publish gate over the training set (%(default)s)",
    )
    _add_judge(parser)
    arguments.add_json(parser)
    parser.set_defaults(
        run=_nightly,
        kept="what is finished is kept, and nothing is taken twice; run the same command again to "
        "carry on",
    )

    forget = commands.add_parser(
        "forget-unfinished",
        help="give up a night whose push is refused for good",
        description="A night that began to push is finished by the next one, before anything else. "
        "Where that is refused for good, this gives it up, and the next night takes the same "
        "files again. What was pushed of it already stays on the platform.",
    )
    forget.add_argument("--agent", required=True, type=arguments.agent, help="agent of the night")
    arguments.add_json(forget)
    forget.set_defaults(run=_forget)


def _add_judge(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("judging rows without a reward")
    group.add_argument(
        "--judge",
        metavar="REFERENCE",
        help="a chat endpoint (openai:<model>, vllm:<model>@<address>) or module:attribute",
    )
    group.add_argument(
        "--judge-rubric", metavar="TEXT", help="what earns a reward of 1, for a chat endpoint"
    )
    group.add_argument(
        "--judge-max-calls",
        type=arguments.count,
        default=1000,
        metavar="N",
        help="judgements the night may cost (%(default)s)",
    )
    group.add_argument(
        "--judge-max-tokens",
        type=arguments.count,
        metavar="N",
        help="tokens they may cost (default: any number)",
    )
    group.add_argument(
        "--judge-check",
        type=arguments.whole,
        default=50,
        metavar="N",
        help="rows with a label to compare the judge on (%(default)s)",
    )


def _nightly(args: argparse.Namespace) -> None:
    check_paths(args.paths)
    flow = load_flow("nightly")
    result = flow.run(
        paths=[shown(path) for path in args.paths],  # Prefect keeps them as JSON
        agent=args.agent,
        night=args.night,
        holdout=args.holdout,
        seed=args.seed,
        leak_threshold=args.leak_threshold,
        max_bad_share=args.max_bad_share,
        strict=args.strict,
        redact=args.redact,
        gate=args.gate,
        judge=args.judge,
        judge_rubric=args.judge_rubric,
        judge_max_calls=args.judge_max_calls,
        judge_max_tokens=args.judge_max_tokens,
        judge_check=args.judge_check,
    )
    emit(result, flow.as_text(result), as_json=args.json)


def _forget(args: argparse.Namespace) -> None:
    from whileai_core.ingest.unfinished import forget_unfinished
    from whileai_core.ingest.workspace import Workspace

    with Workspace(args.agent) as workspace:
        forgotten = forget_unfinished(workspace)
    if forgotten is None:
        text = f"{args.agent} has no unfinished night"
    else:
        text = f"gave up {forgotten['name']}; the next night takes the same files again"
    emit({"forgotten": forgotten}, text, as_json=args.json)
