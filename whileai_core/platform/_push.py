"""Upload rows or a file as a dataset: create, send the bytes, finalize, hold out, publish."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyio import to_thread

from whileai_core.errors import InputError
from whileai_core.platform._connect import connect
from whileai_core.platform._failures import at_stage
from whileai_core.platform._fields import given
from whileai_core.platform._payload import file_payload, rows_of_file, spool_rows
from whileai_core.platform._set_push import NewSet, journal_for, push_set
from whileai_core.quality import publish_gate
from whileai_core.quality.holdouts import warn_if_small
from whileai_core.quality.sides import checked_fraction

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from whileai_core.platform._payload import SplitRows
    from whileai_core.platform.credentials import ApiKey
    from whileai_core.platform.transport import Transport
    from whileai_core.rows import Row


async def push_rows(
    rows: Iterable[Row],
    name: str,
    *,
    api_key: ApiKey = None,
    parent: str | None = None,
    gate: bool = False,
    mode: str | None = None,
    purpose: str | None = None,
    agent: str | None = None,
    description: str | None = None,
    endorsed: Iterable[str] = (),
    strict_hacks: bool = False,
    prove_effect: float = 0.05,
    holdout: float | None = None,
    publish: bool = False,
    timeout: float | None = None,
    lossy: bool = False,
) -> dict[str, Any]:
    """Upload rows as one dataset, or as a training set and a linked holdout set.

    Rows are written once to a temporary file as strict JSON Lines and streamed from there. The
    same rows under the same name and metadata are the same push: a run that died is completed
    by the next one without a second dataset, and a push the platform already has is not sent
    again.

    Args:
        rows: Rows, or a RowSet handle; read once. They are not changed.
        name: Name of the dataset; the holdout set is called `<name>-holdout`.
        api_key: Credential; default from the settings.
        parent: Dataset this one derives from.
        gate: Check the rows with the publish gate first, before any split. Graded rows are
            pushed with its `calibration` stamp; yours are not changed. All rows are held in
            memory then.
        mode: `explore`, `sft`, `rl` or `adaptive`.
        purpose: `train`, `holdout` or `eval`.
        agent: Agent the rows come from; required to publish.
        description: Free text, also shown on the public card.
        endorsed: Behaviours the publish gate lets pass.
        strict_hacks: Whether the publish gate refuses on suspected reward hacks.
        prove_effect: Smallest effect a holdout set should prove; a smaller one warns.
        holdout: Share of tasks to hold out, decided by a hash of the task.
        publish: Put the training set into the public catalog.
        timeout: Seconds the upload may take; default 120 plus 4 per megabyte.
        lossy: Write dates, sets, bytes and keys that are no text as text, instead of refusing
            the row. NaN, infinities and lone surrogates are refused all the same.

    Returns:
        The dataset as the platform describes it, with `datasetId` and `name`; `holdout` (entry
        of the second set) and `holdout_tasks` where rows were held out; `card` where published;
        `gate`, the publish gate's report, where it was asked;
        `embedded` true where it went to the gate in this process.

    Raises:
        InputError: An argument or a row cannot be used; nothing was sent.
        PublishGateError: The gate refused the rows; nothing was sent.
        PlatformError: A step failed; `stage` and `dataset_id` say what is left. Calling again
            goes on from there.
    """
    new = NewSet(
        name, purpose=purpose, parent=parent, mode=mode, agent=agent, description=description
    )
    new.check()
    if publish and not agent:
        raise InputError("push_rows: publish=True needs agent=, the name on the public card")
    fraction = checked_fraction(holdout)
    if timeout is not None and timeout <= 0:
        raise InputError(f"timeout={timeout!r} must be a positive number of seconds")
    report = None
    if gate:
        report = await to_thread.run_sync(
            lambda: publish_gate(
                list(rows),
                mode=mode,
                endorsed=tuple(endorsed),
                strict_hacks=strict_hacks,
                holdout=fraction,
            )
        )
        rows = report.rows
    async with connect(api_key) as platform:
        split = await to_thread.run_sync(
            lambda: spool_rows(
                rows,
                fraction=fraction,
                count_tasks=purpose == "holdout",
                lossy=lossy,
                where="push_rows",
            )
        )
        try:
            entry = await _push_split(
                platform, new, split, effect=prove_effect, publish=publish, timeout=timeout
            )
        finally:
            split.close()
    if report is not None:
        entry["gate"] = report.to_dict()
    return entry


async def push_file(
    path: str | os.PathLike[str],
    name: str | None = None,
    *,
    api_key: ApiKey = None,
    parent: str | None = None,
    gate: bool = True,
    mode: str | None = None,
    purpose: str | None = None,
    agent: str | None = None,
    description: str | None = None,
    timeout: float | None = None,
) -> dict[str, Any]:
    """Upload a JSONL file as one dataset.

    Args:
        path: The file. With the gate its rows are read, checked, stamped and written anew; with
            `gate=False` its bytes are sent as they are.
        name: Name of the dataset; default the file's name without `.jsonl`.
        api_key: Credential; default from the settings.
        parent: Dataset this one derives from.
        gate: Check the rows with the publish gate first.
        mode: As in `push_rows`, and so are `purpose`, `agent`, `description`, `timeout`.
        purpose: See `mode`.
        agent: See `mode`.
        description: See `mode`.
        timeout: See `mode`.

    Returns:
        The dataset as the platform describes it, with `datasetId` and `name`.

    Raises:
        SourceNotFound: There is no such file; nothing was sent.
        InputError: An argument or a line cannot be used; nothing was sent.
        PublishGateError: The gate refused the rows; nothing was sent.
        PlatformError: As in `push_rows`.
    """
    file = Path(path)
    new = NewSet(
        name or file.name.removesuffix(".jsonl"),
        purpose=purpose,
        parent=parent,
        mode=mode,
        agent=agent,
        description=description,
    )
    new.check()
    if gate:
        rows = await to_thread.run_sync(lambda: list(rows_of_file(file)))
        return await push_rows(
            rows,
            new.name,
            api_key=api_key,
            parent=parent,
            gate=True,
            mode=mode,
            purpose=purpose,
            agent=agent,
            description=description,
            timeout=timeout,
        )
    with await to_thread.run_sync(lambda: file_payload(file, is_jsonl=True)) as payload:
        async with connect(api_key) as platform:
            journal = journal_for(platform, new, payload)
            entry = await push_set(platform, new, payload, journal, timeout=timeout)
            journal.clear()
            return entry


async def _push_split(
    platform: Transport,
    new: NewSet,
    split: SplitRows,
    *,
    effect: float,
    publish: bool,
    timeout: float | None,
) -> dict[str, Any]:
    if new.purpose == "holdout":
        warn_if_small(new.name, split.main.tasks, effect)
    payload = split.main.payload()
    journal = journal_for(platform, new, payload)
    entry = await push_set(platform, new, payload, journal, timeout=timeout)
    dataset_id = entry["datasetId"]
    if split.held.rows:
        held = replace(new, name=f"{new.name}-holdout", parent=dataset_id, purpose="holdout")
        warn_if_small(held.name, split.held.tasks, effect)
        if journal.progress.holdout is None:
            with at_stage("holdout", dataset_id):
                held_payload = split.held.payload()
                held_journal = journal_for(platform, held, held_payload)
                held_entry = await push_set(
                    platform, held, held_payload, held_journal, timeout=timeout
                )
                journal.progress.holdout = held_entry
                journal.save()
                held_journal.clear()
        entry["holdout"] = journal.progress.holdout
        entry["holdout_tasks"] = len(split.held.tasks.groups)
    if publish:
        with at_stage("publish", dataset_id):
            body = given(agent=new.agent, description=new.description or None)
            entry["card"] = await platform.post(
                "datasets", dataset_id, "publish", body=body, replayable=True
            )
    journal.clear()
    return entry
