"""`check FILE`: the publish gate at the prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core.cli import arguments
from whileai_core.cli.output import emit
from whileai_core.errors import InputError

if TYPE_CHECKING:
    import argparse

_REFUSED = 1


def add_commands(commands: Any) -> None:
    """Add this module's command."""
    parser = commands.add_parser(
        "check",
        help="say whether rows are fit to be trained on",
        description="Run the publish gate over FILE (any supported trace format). Exit code 1 "
        "means refused; the reason is printed.",
    )
    parser.add_argument("file", metavar="FILE", help="rows or traces")
    parser.add_argument(
        "--mode", choices=["explore", "sft", "rl", "adaptive"], help="what the rows are for"
    )
    parser.add_argument(
        "--endorsed",
        action="append",
        default=[],
        metavar="FEATURE",
        help="a feature the reward is meant to follow; may be repeated",
    )
    parser.add_argument(
        "--strict-hacks", action="store_true", help="refuse when the reward follows anything else"
    )
    parser.add_argument(
        "--holdout",
        type=arguments.proper_share,
        metavar="SHARE",
        help="judge what is left after this share of tasks is held out",
    )
    arguments.add_json(parser)
    parser.set_defaults(run=_check)


def _check(args: argparse.Namespace) -> int:
    from whileai_core.dialects.load import load_all
    from whileai_core.quality import pass_rate_text, profile_report, publish_gate

    rows = load_all([args.file])
    if not rows:
        raise InputError(f"{args.file} holds no rows, so there is nothing to train on")
    report = publish_gate(
        rows,
        mode=args.mode,
        strict=False,
        endorsed=tuple(args.endorsed),
        strict_hacks=args.strict_hacks,
        holdout=args.holdout,
    )
    profile = profile_report(rows)
    rate = pass_rate_text(profile["split"]["pass"], profile["graded"], tasks=profile["tasks"])
    lines = [
        "fit to be trained on" if report["ok"] else f"refused: {report['refusal']}",
        f"pass rate {rate}",
        f"{profile['mixed_tasks']} of {profile['tasks']} tasks have both passes and failures",
        *(f"warning: {warning}" for warning in report["warnings"]),
    ]
    emit({**report.to_dict(), "profile": profile}, "\n".join(lines), as_json=args.json)
    return 0 if report["ok"] else _REFUSED
