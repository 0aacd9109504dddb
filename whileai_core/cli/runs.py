"""`runs …`: training runs and their adapters at the prompt."""

from __future__ import annotations

import argparse
import asyncio
import math
from typing import Any

from whileai_core.cli import arguments
from whileai_core.cli.hub import JOB_KEPT, add_target, add_visibility, published_text
from whileai_core.cli.output import emit, table


def add_commands(commands: Any) -> None:
    """Add this module's commands."""
    parser = commands.add_parser("runs", help="training runs, and publishing their adapters")
    parts = parser.add_subparsers(dest="runs_command", metavar="COMMAND", required=True)

    create = parts.add_parser("create", help="begin a run; its id is printed")
    create.add_argument("name", metavar="NAME", help="name of the run")
    create.add_argument("--base-model", help="the model that is trained, as the Hub names it")
    create.add_argument("--dataset", metavar="ID", help="dataset it is trained on")
    create.add_argument("--trainer", help="what trains it")
    arguments.add_json(create)
    create.set_defaults(run=_create)

    listing = parts.add_parser("list", help="list own runs, newest first")
    arguments.add_json(listing)
    listing.set_defaults(run=_list)

    upload = parts.add_parser("upload", help="upload the files of an adapter")
    upload.add_argument("run_id", metavar="ID", help="run id, as `runs list` shows it")
    upload.add_argument("folder", metavar="FOLDER", help="folder with the adapter's files")
    arguments.add_json(upload)
    upload.set_defaults(
        run=_upload, kept="files that arrived are kept; run the same command again for all of them"
    )

    finish = parts.add_parser("finish", help="say that a run is over, with its numbers")
    finish.add_argument("run_id", metavar="ID", help="run id")
    finish.add_argument(
        "--metric",
        action="append",
        default=[],
        type=_metric,
        metavar="NAME=NUMBER",
        help="a final number; may be given again",
    )
    arguments.add_json(finish)
    finish.set_defaults(run=_finish)

    publish = parts.add_parser("publish", help="publish a run's adapter on Hugging Face")
    publish.add_argument("run_id", metavar="ID", help="run id")
    add_target(publish)
    add_visibility(publish)
    publish.set_defaults(run=_publish, kept=JOB_KEPT)


def _metric(text: str) -> tuple[str, int | float]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=NUMBER")
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"{text!r}: {value!r} is no finite number")
    return name, int(value) if value.isdecimal() else number


def _create(args: argparse.Namespace) -> None:
    from whileai_core.platform.runs import create_run

    run = asyncio.run(
        create_run(
            args.name, base_model=args.base_model, dataset_id=args.dataset, trainer=args.trainer
        )
    )
    text = f"{run}\nnext: whileai-pipelines runs upload {run} FOLDER"
    emit({"runId": run}, text, as_json=args.json)


def _list(args: argparse.Namespace) -> None:
    from whileai_core.platform.runs import list_runs

    runs = asyncio.run(list_runs())
    rows = [
        [
            run["runId"],
            run.get("name") or "",
            run.get("base_model") or "",
            run.get("status") or "",
            (run.get("hf") or {}).get("repo") or "",
            run.get("createdAt") or "",
        ]
        for run in runs
    ]
    headers = ["id", "name", "base model", "status", "published", "created"]
    text = table(headers, rows) if rows else "no runs yet; `runs create` begins one"
    emit({"runs": runs}, text, as_json=args.json)


def _upload(args: argparse.Namespace) -> None:
    from whileai_core.platform.runs import upload_adapter

    files, skipped = asyncio.run(upload_adapter(args.run_id, args.folder))
    text = f"uploaded {len(files)} file{'s' * (len(files) != 1)}: {', '.join(files)}\n"
    if skipped:
        text += f"skipped {len(skipped)} hidden: {', '.join(skipped)}\n"
    text += f"next: whileai-pipelines runs publish {args.run_id}"
    emit({"runId": args.run_id, "files": files, "skipped": skipped}, text, as_json=args.json)


def _finish(args: argparse.Namespace) -> None:
    from whileai_core.platform.runs import finish_run

    run = asyncio.run(finish_run(args.run_id, metrics=dict(args.metric)))
    emit(run, f"run {args.run_id} is {run.get('status')}", as_json=args.json)


def _publish(args: argparse.Namespace) -> None:
    from whileai_core import sync

    hf = sync.hf_publish_run(
        args.run_id,
        namespace=args.namespace,
        repo=args.repo,
        private=not args.public,
        wait=not args.no_wait,
    )
    emit(hf, published_text(hf, public=args.public), as_json=args.json)
