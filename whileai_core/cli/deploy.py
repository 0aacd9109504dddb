"""`deploy` and `serve`: the flows on a Prefect server, somebody's or one of our own."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whileai_core.cli import arguments
from whileai_core.cli.output import emit
from whileai_core.cli.source_root import load_module
from whileai_core.errors import InputError, SourceNotFound
from whileai_core.sources.discovery import find_sources, shown
from whileai_core.urls import check_paths

if TYPE_CHECKING:
    import argparse

_TIMEZONE = "UTC"


def add_commands(commands: Any) -> None:
    """Add this module's commands."""
    _add_deploy(commands)
    _add_serve(commands)


def _add_deploy(commands: Any) -> None:
    parser = commands.add_parser(
        "deploy",
        help="register the flows with a Prefect server, and a night on a schedule",
        description="Register every flow, its triggers and the automations with the Prefect "
        "server or Cloud workspace of PREFECT_API_URL. With PATHS and --agent, also a night of "
        "that agent on a schedule. A repeat brings everything up to date and keeps what was set "
        "in the UI.",
    )
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="traces of the night, as the worker sees them"
    )
    parser.add_argument("--agent", type=arguments.agent, help="agent they come from")
    parser.add_argument("--cron", help="when the night runs (as it does already; new: 30 2 * * *)")
    parser.add_argument("--timezone", help=f"zone of --cron, like Europe/Paris ({_TIMEZONE})")
    parser.add_argument(
        "--pool", help="work pool of the runs, made when missing (default: as it is, else local)"
    )
    parser.add_argument(
        "--notify",
        metavar="TYPE/NAME",
        help="notification block to tell of failed, late and refused runs",
    )
    parser.add_argument(
        "--publish",
        action="store_true",
        help="publish every dataset on Hugging Face as soon as it is pushed",
    )
    arguments.add_json(parser)
    parser.set_defaults(
        run=_deploy,
        usage_error=parser.error,
        kept="what was registered stays; run the same command again for the rest",
    )


def _add_serve(commands: Any) -> None:
    parser = commands.add_parser(
        "serve",
        help="run Prefect server, gate and worker on this machine until interrupted",
        description="Start a Prefect server, the gate and a worker, register every flow, and "
        "restart what dies, until SIGINT or SIGTERM. Everything is kept under WHILEAI_HOME.",
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    parser.add_argument(
        "--prefect-port", type=arguments.port, default=4200, help="Prefect's port (%(default)s)"
    )
    parser.add_argument(
        "--gate-port", type=arguments.port, default=8321, help="the gate's port (%(default)s)"
    )
    parser.set_defaults(run=_serve)


def _deploy(args: argparse.Namespace) -> None:
    import anyio

    if bool(args.paths) != bool(args.agent):
        args.usage_error("a night on a schedule needs both PATHS and --agent")
    if args.timezone and not args.cron:
        args.usage_error("--timezone is the zone of --cron; give both")
    if args.cron and not args.agent:
        args.usage_error("--cron is for a night on a schedule; give PATHS and --agent too")
    check_paths(args.paths)
    load_module("flows")  # Prefect's defaults, before it is imported
    registering = load_module("deployments.register")
    night = None
    if args.agent:
        paths = [_seen_from_anywhere(path) for path in args.paths]
        night = registering.Night(args.agent, paths, args.cron, args.timezone or _TIMEZONE)

    async def register() -> Any:
        return await registering.register(
            night=night, pool=args.pool, notify=args.notify, publish=args.publish
        )

    done = anyio.run(register)
    missing = [path for path in (night.paths if night else ()) if _names_nothing(path)]
    warnings = [
        f"{path} names nothing on this machine; the worker has to find it when the night is due"
        for path in missing
    ]
    emit(asdict(done) | {"warnings": warnings}, _text(done, warnings), as_json=args.json)


def _seen_from_anywhere(path: str) -> str:
    """Make a local path absolute: a worker's folder is another one."""
    return shown(path if "://" in path else str(Path(path).absolute()))


def _names_nothing(path: str) -> bool:
    """Whether a path of this machine is wrong, or its files are still to come."""
    if "://" in path:
        return False
    try:
        find_sources(path)
    except InputError as error:  # what is there but not ours to read may be the worker's
        return isinstance(error, SourceNotFound)
    return False


def _text(done: Any, warnings: list[str]) -> str:
    lines = [f"{what:<8} {name}" for name, what in done.deployments.items()]
    lines += [
        f"dropped  {', '.join(names)} of {name}: its flow has no such parameter any more"
        for name, names in done.dropped.items()
    ]
    lines += [f"{what:<8} automation {name!r}" for name, what in done.automations.items()]
    if done.night is not None:
        night = done.night
        next_time = "paused: resume it in the UI" if night.paused else f"next at {night.next}"
        lines.append(f"schedule {night.deployment} {night.cron!r} {night.timezone}, {next_time}")
    lines += [f"warning: {warning}" for warning in warnings]
    lines.append(f"see {done.ui}/deployments" if done.ui else f"registered with {done.api}")
    return "\n".join(lines)


def _serve(args: argparse.Namespace) -> None:
    serving = load_module("deployments.serve")
    serving.serve(serving.Addresses(args.host, args.prefect_port, args.gate_port))
