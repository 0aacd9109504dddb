"""What happens in the sandbox world: records that exist or not, and change when acted on."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from whileai_core import jsonio
from whileai_core.simulation import calls
from whileai_core.simulation.chance import number, share, token
from whileai_core.simulation.records import Record, RecordBook, asserts_a_finding, day, person
from whileai_core.simulation.verbs import Verb, lists_many, status_after, verb_of, words_of_name

MISSING = "entity missing"
EXISTS = "entity exists"
ALREADY_DONE = "entity already acted on"
DUPLICATE = "duplicate entity"
PARTIAL = "partially completed"
UNKNOWN = "unknown"

_EXIST_SHARE = 0.7
_IN_PROGRESS = "in_progress"
_COMPLETED = "completed"
_MOST_FOUND = 6


class Sandbox:
    """The records of one world and what has happened to them."""

    def __init__(
        self,
        book: RecordBook,
        state: str | None,
        seed: object,
        prompt: str,
        known_ids: Collection[str],
    ) -> None:
        self._book = book
        self._state = state
        self._seed = seed
        self._prompt = prompt
        self._known = known_ids
        self._final_status = _final_status(book.tools)
        self._records: dict[str, Record] = {}
        self._issued: set[str] = set()
        self._removed: set[str] = set()
        self._touched: set[str] = set()
        self._done: set[str] = set()

    def answer(
        self, tool: str, parameters: Mapping[str, Any], arguments: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the answer to a call; the first rule that applies answers."""
        verb = verb_of(tool)
        references = calls.references_in(arguments)
        settled = self._settled_by_state(verb, references)
        computed = calls.computed(tool, arguments)
        if computed is not None or settled is not None:
            return computed or settled or {}
        fields = calls.missing_required(parameters, arguments)
        if fields:
            return {"status": "rejected", "reason": "missing_required", "fields": fields}
        fields = calls.placeholders_in(arguments)
        if fields:
            return {
                "status": "rejected",
                "reason": "placeholder_argument",
                "fields": fields,
                "hint": "give the real value, or ask the user for it",
            }
        if verb is Verb.CREATE:
            return self._create(tool, arguments)
        absent = [reference for reference in references if not self._exists(reference)]
        if absent:
            return {"status": "not_found", "missing": absent}
        if verb is Verb.READ:
            return self._read(tool, references, arguments)
        return self._write(tool, verb, references, arguments)

    def shown(self, tool: str, arguments: dict[str, Any]) -> Record:
        """Return the record a call is about, as the tool shows it."""
        references = calls.references_in(arguments)
        reference = references[0] if references else calls.subject_of(tool, arguments)
        return self._shown(tool, reference, arguments)

    def _settled_by_state(self, verb: Verb, references: list[str]) -> dict[str, Any] | None:
        if verb is Verb.CREATE:
            return None
        earlier = [reference for reference in references if reference not in self._issued]
        if references and not earlier:
            return None
        if self._state == MISSING:
            return {"status": "not_found", "missing": earlier or ["entity"]}
        if self._state == ALREADY_DONE and verb is not Verb.READ:
            return {"status": "already_done", "reason": "already_acted_on"}
        return None

    def _exists(self, reference: str) -> bool:
        if reference in self._removed:
            return False
        if reference in self._issued or reference in self._known or reference in self._prompt:
            return True
        if self._state in (EXISTS, ALREADY_DONE, DUPLICATE, PARTIAL):
            return True
        return share(self._seed, "exists", reference) < _EXIST_SHARE

    def _create(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        words = words_of_name(tool)
        stem = words[-1] if len(words) > 1 else "record"
        identity = f"{stem}_{token(12, self._seed, tool, len(self._issued))}"
        self._issued.update((identity, *calls.references_in(arguments)))
        record = self._record(identity)
        record |= {key: value for key, value in arguments.items() if key not in ("id", "status")}
        return {**arguments, "status": "created", "id": identity, "ref": identity}

    def _read(self, tool: str, references: list[str], arguments: dict[str, Any]) -> dict[str, Any]:
        if not references and lists_many(tool):
            return {"status": "ok", "data": self._found(tool, arguments)}
        subjects = references or [calls.subject_of(tool, arguments)]
        if self._is_ambiguous(subjects[0], references):
            twins = self._twins(subjects[0])
            chosen = _chosen(twins, arguments, references)
            return {"status": "ok", "data": {"matches": twins} if chosen is None else chosen}
        if len(subjects) == 1 or not lists_many(tool):
            return {"status": "ok", "data": self._shown(tool, subjects[0], arguments)}
        items = [self._shown(tool, subject, {}) for subject in subjects]
        return {"status": "ok", "data": {"count": len(items), "items": items}}

    def _write(
        self, tool: str, verb: Verb, references: list[str], arguments: dict[str, Any]
    ) -> dict[str, Any]:
        subject = references[0] if references else calls.subject_of(tool, arguments)
        if self._is_ambiguous(subject, references):
            twins = self._twins(subject)
            chosen = _chosen(twins, arguments, references)
            if chosen is None:
                return {"status": "rejected", "reason": "ambiguous_reference", "matches": 2}
            subject = chosen["record_id"]
        if verb is Verb.DELETE:
            self._removed.update(references or [subject])
            return {"status": "deleted", "removed": references or [subject]}
        record = self._record(subject)
        status = status_after(tool)
        write = jsonio.text([tool, arguments])
        if write in self._done or (status is not None and self._is_final(subject, status)):
            return {"status": "already_done", "reason": "already_acted_on"}
        self._done.add(write)
        self._touched.add(subject)
        self._change(record, references, arguments, status)
        return {"status": "ok", "data": self._shown(tool, subject, {})}

    def _change(
        self,
        record: Record,
        references: list[str],
        arguments: dict[str, Any],
        status: str | None,
    ) -> None:
        given = {key: value for key, value in arguments.items() if str(value) not in references}
        record |= given
        if status is not None:
            record["status"] = status
        elif self._state == PARTIAL and "status" not in given:
            record["status"] = _COMPLETED
        record["version"] = record.get("version", 1) + 1

    def _is_final(self, subject: str, status: str) -> bool:
        return subject in self._touched and self._record(subject)["status"] == status

    def _found(self, tool: str, arguments: dict[str, Any]) -> Record:
        query = calls.subject_of(tool, arguments)
        count = number(self._seed, "found", query) % _MOST_FOUND + 1
        known = sorted(set(self._known) - self._removed)[:count]
        made = [f"{token(6, query, place).upper()}" for place in range(count - len(known))]
        items = [self._shown(tool, reference, {}) for reference in (*known, *made)]
        return {"query": query, "count": len(items), "items": items}

    def _shown(self, tool: str, reference: str, arguments: dict[str, Any]) -> Record:
        record = self._record(reference)
        shown = self._book.seen_through(tool, record, reference)
        echoed = {
            key: value
            for key, value in arguments.items()
            if key not in shown and not asserts_a_finding(key)
        }
        changed = record if reference in self._touched or reference in self._issued else {}
        return {**echoed, **shown, **changed}

    def _record(self, reference: str) -> Record:
        record = self._records.get(reference)
        if record is None:
            record = self._records[reference] = self._book.record(reference)
            if reference in self._issued:
                record["status"] = "open"
            elif self._state == ALREADY_DONE:
                record["status"] = self._final_status
            elif self._state == PARTIAL:
                record["status"] = _IN_PROGRESS
        return record

    def _is_ambiguous(self, subject: str, references: list[str]) -> bool:
        return self._state == DUPLICATE and bool(references) and subject not in self._issued

    def _twins(self, reference: str) -> list[Record]:
        twins = []
        for place in ("first", "second"):
            identity = f"rec_{token(8, reference, place)}"
            record = self._record(identity)
            twins.append({
                **record,
                "id": reference,
                "record_id": identity,
                "name": person(reference, place),
                "updated_at": day(reference, place),
            })  # fmt: skip
        return twins


def _chosen(
    twins: list[Record], arguments: Mapping[str, Any], references: list[str]
) -> Record | None:
    """Return the one of two records that an argument beside the reference tells apart."""
    values = {str(value) for value in arguments.values()} | set(references)
    matching = [
        twin
        for twin in twins
        if values & {str(value) for key, value in twin.items() if key not in ("id", "status")}
    ]
    return matching[0] if len(matching) == 1 else None


def _final_status(tools: Sequence[str]) -> str:
    """Return the status of a record that was already acted on: by the first tool that acts."""
    statuses = (status_after(tool) for tool in tools if verb_of(tool) is Verb.UPDATE)
    return next((status for status in statuses if status is not None), _COMPLETED)
