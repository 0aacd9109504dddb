"""`simulate`, `evaluate` and `climb`: make rows, grade them, and go round after round."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from whileai_core.cli import arguments
from whileai_core.cli.output import FAILED, checked_output, emit, emit_error
from whileai_core.cli.source_root import load_flow
from whileai_core.errors import InputError
from whileai_core.sources.discovery import shown
from whileai_core.urls import check_paths

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from whileai_core.rows import Row

_AGENT = "module:attribute within the allowed packages, or a chat endpoint such as vllm:MODEL@URL"
_JUDGE = "outcome (%(default)s), module:attribute, or a chat endpoint that judges by rubric"
_BROKEN_OFF = {"agent_failed", "endpoint_dead", "judge_failed", "improver_failed"}
_TOOLS = "JSON file with tool schemas, or module:attribute (default: read off the traces)"


def add_commands(commands: Any) -> None:
    """Add this module's commands."""
    _add_simulate(commands)
    _add_evaluate(commands)
    _add_climb(commands)


def _add_simulate(commands: Any) -> None:
    parser = commands.add_parser(
        "simulate",
        help="roll an agent out in a sandbox, aimed at the failures in traces",
        description="Draw situations from a grid, or aimed at what failed in --traces, roll the "
        "agent out in a world with faults, and write the rows to FILE. An interrupted run goes "
        "on when the same command is given again.",
    )
    parser.add_argument("--agent", required=True, metavar="REF", help=_AGENT)
    parser.add_argument("--out", required=True, metavar="FILE", help="file for the rows")
    parser.add_argument("--traces", nargs="+", default=[], metavar="PATH", help="what to aim by")
    parser.add_argument("--tools", metavar="TOOLS", help=_TOOLS)
    parser.add_argument("--system-prompt", default="", metavar="TEXT", help="the agent's policy")
    parser.add_argument(
        "--mode", choices=["explore", "sft", "rl", "adaptive"], default="rl", help="(%(default)s)"
    )
    parser.add_argument("--budget", type=arguments.count, default=96, help="rows (%(default)s)")
    parser.add_argument("--repeats", type=arguments.count, help="rollouts per ask")
    _add_common(parser)
    parser.set_defaults(
        run=_simulate,
        kept="rows that landed are kept beside FILE; run the same command again to carry on",
    )


def _add_evaluate(commands: Any) -> None:
    parser = commands.add_parser(
        "evaluate",
        help="grade rows with a judge",
        description="Judge every row of FILE (any supported trace format) and write the graded "
        "copies. A judge that fails leaves a row ungraded, never 0.",
    )
    parser.add_argument("file", metavar="FILE", help="rows or traces")
    parser.add_argument("--judge", default="outcome", metavar="REF", help=_JUDGE)
    parser.add_argument("--rubric", metavar="TEXT", help="what earns a 1, for a chat endpoint")
    parser.add_argument(
        "--ungraded", action="store_true", help="leave rows that have a reward as they are"
    )
    parser.add_argument("--out", required=True, metavar="FILE", help="file for the graded rows")
    _add_limits(parser)
    arguments.add_json(parser)
    parser.set_defaults(run=_evaluate)


def _add_climb(commands: Any) -> None:
    parser = commands.add_parser(
        "climb",
        help="simulate, grade, push and improve, round after round",
        description="Start from PATHS or a dataset, aim simulations at what failed, grade and "
        "push them, let an improver make the next agent, and compare the rounds on held-out "
        "tasks. After an interruption the same command carries on.",
    )
    parser.add_argument("paths", nargs="*", metavar="PATH", help="traces to start from")
    parser.add_argument("--name", required=True, type=arguments.agent, help="names the datasets")
    parser.add_argument("--agent", required=True, metavar="REF", help=_AGENT)
    parser.add_argument("--dataset", metavar="ID", help="dataset to start from")
    parser.add_argument("--tools", metavar="TOOLS", help=_TOOLS)
    parser.add_argument("--system-prompt", default="", metavar="TEXT", help="first system prompt")
    parser.add_argument("--judge", default="outcome", metavar="REF", help=_JUDGE)
    parser.add_argument("--improver", metavar="REF", help="makes the next agent out of failures")
    parser.add_argument("--rounds", type=arguments.count, default=3, help="most (%(default)s)")
    parser.add_argument(
        "--budget", type=arguments.count, default=96, help="rows a round (%(default)s)"
    )
    parser.add_argument(
        "--repeats", type=arguments.count, default=4, help="rollouts per ask (%(default)s)"
    )
    parser.add_argument(
        "--holdout-tasks",
        type=arguments.count,
        default=24,
        metavar="N",
        help="tasks the rounds are compared on (%(default)s)",
    )
    _add_common(parser)
    parser.set_defaults(
        run=_climb,
        kept="finished steps and rows that landed are kept; run the same command again to carry on",
    )


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seed", type=int, default=0, help="another seed, other situations")
    parser.add_argument(
        "--concurrency", type=arguments.count, default=32, help="rollouts at once (%(default)s)"
    )
    _add_limits(parser)
    arguments.add_json(parser)


def _add_limits(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--max-calls", type=arguments.count, metavar="N", help="model calls")
    parser.add_argument("--max-tokens", type=arguments.count, metavar="N", help="model tokens")


def _simulate(args: argparse.Namespace) -> int:
    from whileai_core import sync
    from whileai_core.dialects.load import load_all
    from whileai_core.simulation.references import resolve_agent, resolve_tools
    from whileai_core.simulation.spend import Spend
    from whileai_core.traces.harness import tools_from_traces

    out = checked_output(args.out)
    spend = Spend(args.max_calls, args.max_tokens)
    traces = load_all(args.traces)
    checkpoint = out.with_name(f".{out.name}.checkpoint")
    data = sync.simulate(
        resolve_agent(args.agent),
        tools=resolve_tools(tools(args.tools)) or tools_from_traces(traces),
        system_prompt=args.system_prompt or None,
        traces=traces or None,
        mode=args.mode,
        budget=args.budget,
        repeats=args.repeats,
        seed=args.seed,
        concurrency=args.concurrency,
        checkpoint=checkpoint,
        spend=spend,
    )
    if not data.rows:
        checkpoint.unlink(missing_ok=True)
        what = f"no row landed ({data.stopped_because}), and {out} was not written"
        return _nothing_done(what, data.warnings, data.report(), as_json=args.json)
    _write(out, data.rows)
    checkpoint.unlink(missing_ok=True)
    lines = [
        f"{len(data.rows)} rows in {out}, stopped because: {data.stopped_because}",
        *(f"warning: {warning}" for warning in data.warnings),
        f"next: whileai-pipelines evaluate {out} --out {out.stem}-graded.jsonl",
    ]
    emit({**data.report(), "out": str(out)}, "\n".join(lines), as_json=args.json)
    return 0


def _evaluate(args: argparse.Namespace) -> int:
    from whileai_core import sync
    from whileai_core.dialects.load import load_all
    from whileai_core.quality.grades import grade_of
    from whileai_core.simulation.references import resolve_judge
    from whileai_core.simulation.spend import Spend

    out = checked_output(args.out)
    rows = load_all([args.file])
    if not rows:
        raise InputError(f"{args.file} holds no rows; nothing was graded")
    spend = Spend(args.max_calls, args.max_tokens)
    places = [i for i, row in enumerate(rows) if not args.ungraded or grade_of(row) is None]
    scored = sync.evaluate(
        [rows[i] for i in places],
        resolve_judge(args.judge),
        rubric=args.rubric,
        spend=spend,
        source="grade" if args.ungraded else "eval",
    )
    for i, row in zip(places, scored, strict=True):
        rows[i] = row
    rates = scored.pass_at()
    asked, unjudged = len(places), len(scored.unjudged())
    value = {
        "pass_at": rates.to_dict(),
        "rows": len(rows),
        "unjudged": unjudged,
        "warnings": scored.warnings,
        "spend": spend.report(),
    }
    if unjudged and unjudged == asked:
        what = f"no row was graded, and {args.out} was not written"
        return _nothing_done(what, scored.warnings, value, as_json=args.json)
    _write(out, rows)
    lines = [
        str(rates),
        f"{asked - unjudged} of {asked} row{'s' * (asked != 1)} graded, in {args.out}",
        *(f"warning: {warning}" for warning in scored.warnings),
    ]
    emit({**value, "out": args.out}, "\n".join(lines), as_json=args.json)
    return 0


def _nothing_done(
    what: str, warnings: Sequence[str], value: dict[str, Any], *, as_json: bool
) -> int:
    """Say why a command came to nothing; a file of an earlier run is better than an empty one."""
    error = ": ".join([what, "; ".join(warnings)]) if warnings else what
    emit_error(error, as_json=False)
    emit({**value, "error": error}, "", as_json=as_json)
    return FAILED


def _climb(args: argparse.Namespace) -> int:
    check_paths(args.paths)
    flow = load_flow("hill_climb")
    result = flow.run(
        name=args.name,
        agent=args.agent,
        paths=[shown(path) for path in args.paths],
        dataset_id=args.dataset,
        tools=tools(args.tools),
        system_prompt=args.system_prompt,
        judge=args.judge,
        improver=args.improver,
        rounds=args.rounds,
        budget=args.budget,
        repeats=args.repeats,
        holdout_tasks=args.holdout_tasks,
        seed=args.seed,
        max_calls=args.max_calls,
        max_tokens=args.max_tokens,
        concurrency=args.concurrency,
    )
    emit(result, flow.as_text(result), as_json=args.json)
    return FAILED if result["stopped"] in _BROKEN_OFF else 0


def tools(given: str | None) -> list[dict[str, Any]] | str | None:
    """Return the schemas in a file, or the reference as it is."""
    from whileai_core import jsonio

    if given is None or not Path(given).is_file():
        return given
    try:
        value = jsonio.loads(Path(given).read_bytes())
    except ValueError:
        value = None
    if not isinstance(value, list) or not all(isinstance(tool, dict) for tool in value):
        raise InputError(f"{given} holds no list of tool schemas, as JSON")
    return value


def _write(path: Path, rows: Sequence[Row]) -> None:
    from whileai_core import jsonio
    from whileai_core.atomic import write_atomic

    write_atomic(path, b"".join(jsonio.dumps_line(row) for row in rows))
