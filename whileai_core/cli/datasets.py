"""`push`, `pull`, `datasets`: the platform at the prompt."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whileai_core.cli import arguments
from whileai_core.cli.output import FAILED, checked_output, emit, table
from whileai_core.errors import InputError
from whileai_core.sources.discovery import shown

if TYPE_CHECKING:
    import argparse


def add_commands(commands: Any) -> None:
    """Add this module's commands."""
    push = commands.add_parser(
        "push",
        help="upload traces or rows as a dataset",
        description="Read FILE (any supported trace format), and push its rows as a dataset. "
        "A repeat of the same push finds the first one and makes no second dataset.",
    )
    push.add_argument("file", metavar="FILE", help="traces or rows to push")
    push.add_argument("--name", help="dataset name (default: the file's name)")
    push.add_argument("--agent", type=arguments.agent, help="agent the rows come from")
    push.add_argument("--purpose", choices=["train", "holdout", "eval"], help="what it is for")
    push.add_argument("--parent", metavar="ID", help="dataset this one follows")
    push.add_argument("--description", help="a sentence about it")
    push.add_argument(
        "--holdout",
        type=arguments.proper_share,
        metavar="SHARE",
        help="hold out this share of tasks as a linked dataset",
    )
    arguments.add_json(push)
    push.set_defaults(
        run=_push,
        kept="run the same command again to finish what was begun; it makes no second dataset",
    )

    pull = commands.add_parser("pull", help="download a dataset to a file")
    pull.add_argument("dataset_id", metavar="ID", help="dataset id, as `datasets` lists it")
    pull.add_argument("--out", required=True, metavar="FILE", help="file to write (JSONL)")
    arguments.add_json(pull)
    pull.set_defaults(run=_pull)

    listing = commands.add_parser("datasets", help="list own datasets, newest first")
    arguments.add_json(listing)
    listing.set_defaults(run=_datasets)

    delete = commands.add_parser(
        "delete",
        help="delete a dataset for good",
        description="Delete a dataset, or what a failed import or push left of one, for good. Asks "
        "first at a terminal; elsewhere --yes is needed.",
    )
    delete.add_argument("dataset_id", metavar="ID", help="dataset id, as `datasets` lists it")
    delete.add_argument("-y", "--yes", action="store_true", help="do not ask")
    arguments.add_json(delete)
    delete.set_defaults(run=_delete, usage_error=delete.error)


def _push(args: argparse.Namespace) -> None:
    from whileai_core import jsonio, sync
    from whileai_core.dialects.load import load_all

    rows = [jsonio.strict(row) for row in load_all([args.file])]  # as a night reads them
    if not rows:
        raise InputError(f"{args.file} holds no rows; nothing was pushed")
    name = args.name or shown(Path(args.file).name).split(".")[0]
    entry = sync.push_rows(
        rows,
        name,
        agent=args.agent,
        purpose=args.purpose,
        parent=args.parent,
        description=args.description,
        holdout=args.holdout,
    )
    lines = [f"pushed {entry.get('rows')} rows as {entry['datasetId']} ({name})"]
    if "holdout" in entry:
        held = entry["holdout"]
        lines.append(f"held out {held.get('rows')} rows as {held['datasetId']}")
    made = entry["datasetId"]
    lines.append(f"next: whileai-pipelines pull {made} --out {made}.jsonl")
    emit(entry, "\n".join(lines), as_json=args.json)


def _pull(args: argparse.Namespace) -> None:
    from whileai_core import sync

    checked_output(args.out)
    path = sync.pull(args.dataset_id, args.out)
    with Path(args.out).open("rb") as file:
        rows = sum(1 for line in file if line.strip())
    emit(
        {"datasetId": args.dataset_id, "path": str(path), "rows": rows},
        f"wrote {rows} row{'s' * (rows != 1)} of {args.dataset_id} to {path}",
        as_json=args.json,
    )


def _datasets(args: argparse.Namespace) -> None:
    from whileai_core import sync

    listing = sync.datasets()
    rows = [
        [
            entry["datasetId"],
            entry.get("name") or "",
            entry.get("purpose") or "",
            entry.get("agent") or "",
            entry.get("rows") if entry.get("rows") is not None else "-",
            entry.get("status") or "",
            entry.get("createdAt") or "",
        ]
        for entry in listing["datasets"]
    ]
    headers = ["id", "name", "purpose", "agent", "rows", "status", "created"]
    text = table(headers, rows) if rows else "no datasets yet; `nightly` and `push` make some"
    failed = [entry for entry in listing["datasets"] if entry.get("status") == "failed"]
    text += "".join(f"\n{_failure(entry)}" for entry in failed)
    emit(listing, text, as_json=args.json)


def _failure(entry: dict[str, Any]) -> str:
    """Say why a dataset came to nothing, and how to be rid of what is left of it."""
    made = entry["datasetId"]
    why = (entry.get("hfImport") or {}).get("error") or "what was uploaded is no JSONL"
    return f"{made} failed and holds no rows: {why}; to remove it: whileai-pipelines delete {made}"


def _delete(args: argparse.Namespace) -> int | None:
    from whileai_core import sync

    if not args.yes:
        if not sys.stdin.isatty():
            args.usage_error("delete asks first, and there is nobody to ask; give --yes")
        print(f"delete {args.dataset_id} for good? [y/N] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
            emit({"deleted": False}, "nothing was deleted", as_json=args.json)
            return FAILED
    sync.delete_dataset(args.dataset_id)
    value = {"datasetId": args.dataset_id, "deleted": True}
    emit(value, f"deleted {args.dataset_id}", as_json=args.json)
    return None
