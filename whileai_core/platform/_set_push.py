"""One dataset on its way to the platform: create, upload, finalize, each repeatable.

Every step is journaled before the next one starts. Whatever the reason for a second run (a
crash, a lost answer, an expired address), it ends with one dataset.
"""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whileai_core import jsonio
from whileai_core.errors import BadReply, Conflict, InputError, NotFound, PlatformError
from whileai_core.platform._call import EXPIRED_STATUSES, transfer_seconds
from whileai_core.platform._failures import at_stage
from whileai_core.platform._fields import MODES, PURPOSES, checked_choice, given
from whileai_core.platform._journal import PushJournal
from whileai_core.platform._wire import Created
from whileai_core.settings import get_settings

if TYPE_CHECKING:
    from whileai_core.platform._payload import Payload
    from whileai_core.platform._wire import Reply
    from whileai_core.platform.transport import Transport

_NEW_STARTS = 2  # after a dataset was deleted while it was being filled

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class NewSet:
    """What a dataset is created with."""

    name: str
    purpose: str | None = None
    parent: str | None = None
    mode: str | None = None
    agent: str | None = None
    description: str | None = None

    def check(self) -> None:
        """Refuse what the platform would refuse, before anything is sent.

        Raises:
            InputError: The name is blank, or purpose or mode is unknown.
        """
        if not isinstance(self.name, str) or not self.name.strip():
            raise InputError("a dataset needs a name")
        checked_choice("purpose", self.purpose, PURPOSES)
        checked_choice("mode", self.mode, MODES)

    def body(self) -> dict[str, Any]:
        """Return the create request."""
        return given(
            name=self.name,
            purpose=self.purpose,
            mode=self.mode,
            agent=self.agent,
            description=self.description,
            parentDatasetId=self.parent or None,
        )


def journal_for(platform: Transport, new: NewSet, payload: Payload) -> PushJournal:
    """Open the journal of this push; equal content and metadata are the same push."""
    content = {"sha256": payload.sha256, "sizeBytes": payload.size, **new.body()}
    push_key = hashlib.sha256(jsonio.canonical(content)).hexdigest()
    return PushJournal(get_settings().home, platform.base_url, push_key)


async def push_set(
    platform: Transport,
    new: NewSet,
    payload: Payload,
    journal: PushJournal,
    *,
    timeout: float | None,
) -> dict[str, Any]:
    """Bring one dataset from wherever its journal says it is to ready; return its entry.

    The journal is left in place: the caller clears it when nothing else belongs to the push.

    Raises:
        PlatformError: With `stage`, and with `dataset_id` where a dataset is left behind.
    """
    seconds = timeout if timeout is not None else transfer_seconds(payload.size)
    entry = await _SetPush(platform, new, payload, journal, seconds).run()
    entry = {**entry, "datasetId": journal.progress.dataset_id, "name": new.name}
    return entry | ({"embedded": True} if platform.embedded else {})


class _SetPush:
    def __init__(
        self,
        platform: Transport,
        new: NewSet,
        payload: Payload,
        journal: PushJournal,
        seconds: float,
    ) -> None:
        self._platform = platform
        self._new = new
        self._payload = payload
        self._journal = journal
        self._seconds = seconds

    async def run(self) -> Reply:
        for _ in range(_NEW_STARTS):
            try:
                return await self._carry_on()
            except NotFound:
                if await self._state() is not None:
                    raise
                log.warning(
                    "dataset %s was deleted while it was being pushed; starting anew",
                    self._journal.progress.dataset_id,
                )
                self._journal.start_anew()
        return await self._carry_on()

    async def _carry_on(self) -> Reply:
        if self._journal.resumed:
            await self._look_again()
        progress = self._journal.progress
        if progress.stage == "create":
            await self._create()
        if progress.stage == "upload":
            with at_stage("upload", progress.dataset_id):
                await self._upload()
        if progress.stage == "finalize":
            with at_stage("finalize", progress.dataset_id):
                await self._finalize()
        return progress.entry or {}

    async def _state(self) -> Reply | None:
        """Ask for the dataset; None when there is none."""
        progress = self._journal.progress
        if progress.dataset_id is None:
            return None
        with at_stage(progress.stage, progress.dataset_id):
            try:
                return await self._platform.get("datasets", progress.dataset_id)
            except NotFound:
                return None

    async def _look_again(self) -> None:
        """Compare the journal of an earlier run with what the platform has."""
        self._journal.resumed = False
        row = await self._state()
        if row is None:
            self._journal.start_anew()
        elif row.get("status") == "ready":
            self._done(row)

    async def _create(self) -> None:
        self._journal.save()  # a home that cannot be written shows before anything is created
        with at_stage("create", None):
            created = await self._grant()
        self._take(created)
        if self._platform.honours_keys and created.status is None:
            # The answer does not tell whether this set is known from an earlier run.
            row = await self._state()
            if row is not None and row.get("status") == "ready":
                self._done(row)
        elif created.status == "ready":
            self._done(created.row)

    async def _grant(self) -> Created:
        reply = await self._platform.post(
            "datasets",
            body=self._new.body(),
            replayable=False,
            idempotency_key=self._journal.idempotency_key,
            probe=True,
        )
        return Created.from_reply(reply)

    def _take(self, created: Created) -> None:
        progress = self._journal.progress
        progress.dataset_id = created.dataset_id
        progress.upload_url = created.upload_url
        progress.stage = "upload"
        self._journal.save()

    def _done(self, row: Reply) -> None:
        progress = self._journal.progress
        if progress.stage != "ready" or progress.entry is None:
            progress.entry = {key: value for key, value in row.items() if key != "uploadUrl"}
            progress.stage = "ready"
            progress.upload_url = None
            self._journal.save()

    async def _upload(self) -> None:
        try:
            await self._put()
        except InputError:  # the file is no longer what was announced
            await self._discard()
            raise
        except PlatformError as error:
            if error.status not in EXPIRED_STATUSES:
                raise
            log.info("the upload address was refused (%s); asking for a new one", error.status)
            await self._renew_address()
            if self._journal.progress.stage == "upload":
                await self._put()
        progress = self._journal.progress
        if progress.stage == "upload":
            progress.stage = "finalize"
            self._journal.save()

    async def _put(self) -> None:
        url = self._journal.progress.upload_url
        if url is None:
            raise BadReply("the platform gave no upload address for this dataset")
        await self._platform.upload(
            url, self._payload.chunks, size=self._payload.size, seconds=self._seconds
        )

    async def _renew_address(self) -> None:
        """Get a new upload address: for the same set if keys are honoured, else for a new one."""
        if not self._platform.honours_keys:
            await self._discard()
            self._journal.start_anew()
        created = await self._grant()
        self._take(created)
        if created.status == "ready":
            self._done(created.row)

    async def _discard(self) -> None:
        """Delete the set we made and could not fill."""
        dataset_id = self._journal.progress.dataset_id
        if dataset_id is not None:
            await self._platform.delete("datasets", dataset_id)
        self._journal.clear()

    async def _finalize(self) -> None:
        progress = self._journal.progress
        dataset_id = progress.dataset_id or ""
        proof = {"sizeBytes": self._payload.size, "sha256": self._payload.sha256}
        try:
            row = await self._platform.post(
                "datasets", dataset_id, "finalize", body=proof, replayable=True
            )
        except Conflict:  # finalized before, by a try whose answer was lost?
            known = await self._state()
            if known is None or known.get("status") != "ready":
                self._send_again_next_time()
                raise
            row = known
        try:
            self._check_against_payload(row)
        except BadReply:
            self._send_again_next_time()
            raise
        self._done(row)

    def _send_again_next_time(self) -> None:
        self._journal.progress.stage = "upload"
        self._journal.save()

    def _check_against_payload(self, row: Reply) -> None:
        """Compare what the platform says it holds with what was sent."""
        sent = {
            "sizeBytes": self._payload.size,
            "sha256": self._payload.sha256,
            "rows": self._payload.rows,
        }
        for key, value in sent.items():
            reported = row.get(key)
            if value is not None and reported is not None and reported != value:
                raise BadReply(
                    f"the platform reports {key} {reported!r} for the dataset, {value!r} was sent; "
                    "the set is not what was pushed"
                )
