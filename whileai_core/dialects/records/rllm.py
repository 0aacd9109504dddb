"""rLLM episodes: trajectories whose steps each hold the conversation so far."""

from __future__ import annotations

from whileai_core.dialects.messages import events_of
from whileai_core.dialects.messages.values import text_id
from whileai_core.dialects.records import labels
from whileai_core.dialects.records.histories import Thread
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import Object, kept, obj, objects, present
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row

_HISTORY = "chat_completions"


def _trajectories(episode: Object) -> list[Object]:
    return objects(episode.get("trajectories")) or [episode]


def _matches(value: object) -> bool:
    steps = [s for part in _trajectories(obj(value)) for s in objects(part.get("steps"))[:1]]
    return any(isinstance(step.get(_HISTORY), list) for step in steps)


def _conversations(value: object) -> list[tuple[Object, Object]]:
    episode = obj(value)
    return [(episode, trajectory) for trajectory in _trajectories(episode)]


def _row(part: tuple[Object, Object]) -> Row | None:
    episode, trajectory = part
    thread = Thread()
    for step in objects(trajectory.get("steps")):
        thread.add_history(events_of(step.get(_HISTORY)))
    row = kept(episode, "task", "termination_reason") | present(
        episode_id=text_id(episode.get("id")), trajectory=trajectory.get("name")
    )
    if isinstance(episode.get("is_correct"), bool):
        labels.grade(row, episode["is_correct"], "is_correct")
    labels.grade(row, trajectory.get("reward"), "reward")
    return row_from_events(thread.events, extra=row)


EPISODE = Reader(
    name="rllm",
    matches=_matches,
    conversations=_conversations,
    row=_row,
    markers=frozenset({"steps", "trajectories"}),
)
