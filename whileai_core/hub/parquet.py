"""Rows to Parquet shards with declared types: the same rows give the same bytes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whileai_core import jsonio
from whileai_core.errors import MissingExtra
from whileai_core.hub.columns import COLUMNS, JSON, JSON_LIST, NUMBER, TEXT, WHOLE, columns_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

SHARD_BYTES = 256 * 1024 * 1024  # of row text; compressed a fraction of that
_GROUP_ROWS = 1000
_GROUP_BYTES = 16 * 1024 * 1024
_FEATURES = {
    TEXT: {"dtype": "string", "_type": "Value"},
    WHOLE: {"dtype": "int64", "_type": "Value"},
    NUMBER: {"dtype": "float64", "_type": "Value"},
    JSON: {"_type": "Json"},
    JSON_LIST: {"feature": {"_type": "Json"}, "_type": "List"},
}


@dataclass(frozen=True)
class Shards:
    """What was written.

    Attributes:
        files: Path in the repository to the local file, in order.
        rows: Rows in all of them.
        sha256: Of the rows' texts, one a line: equal for equal rows in equal order.
    """

    files: dict[str, Path]
    rows: int
    sha256: str


def pyarrow() -> Any:
    """Return pyarrow.

    Raises:
        MissingExtra: It is not installed.
    """
    try:
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra.named("parquet", "publishing and importing need pyarrow") from None
    return pyarrow


def write_shards(
    texts: Iterable[str], folder: Path, split: str, *, shard_bytes: int = SHARD_BYTES
) -> Shards:
    """Write rows as the shards of a split; memory stays flat.

    Args:
        texts: Each row as JSON text.
        folder: Where the files go.
        split: Name of the split; part of the files' names.
        shard_bytes: Bytes of row text after which the next shard begins.
    """
    whole = hashlib.sha256()
    paths: list[Path] = []
    rows = 0
    writer = None
    written = 0
    try:
        for group in _groups(texts):
            if writer is None or written >= shard_bytes:
                if writer is not None:
                    writer.close()
                paths.append(folder / f"{len(paths)}.parquet")
                writer, written = _writer(paths[-1]), 0
            for text in group:
                whole.update(text.encode() + b"\n")
                written += len(text)
            rows += len(group)
            writer.write_table(_table(group), row_group_size=len(group))
    finally:
        if writer is not None:
            writer.close()
    names = (f"data/{split}-{n:05d}-of-{len(paths):05d}.parquet" for n in range(len(paths)))
    return Shards(dict(zip(names, paths, strict=True)), rows, whole.hexdigest())


def _groups(texts: Iterable[str]) -> Iterator[list[str]]:
    group: list[str] = []
    size = 0
    for text in texts:
        group.append(text)
        size += len(text)
        if len(group) >= _GROUP_ROWS or size >= _GROUP_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def _writer(path: Path) -> Any:
    return pyarrow().parquet.ParquetWriter(
        path,
        _schema(),
        compression="zstd",
        compression_level=6,
        # Pages end where the content says so: a version that differs a little shares the rest.
        use_content_defined_chunking=True,
    )


def _table(group: list[str]) -> Any:
    pa = pyarrow()
    rows = [columns_of(text) for text in group]
    schema = _schema()
    arrays = [
        _array([row[field.name] for row in rows], field.type, COLUMNS[field.name])
        for field in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def _array(values: list[Any], to: Any, kind: str) -> Any:
    pa = pyarrow()
    if kind == JSON:
        return pa.ExtensionArray.from_storage(to, pa.array(values, pa.string()))
    if kind == JSON_LIST:
        plain = pa.array(values, pa.list_(pa.string()))
        items = pa.ExtensionArray.from_storage(to.value_type, plain.values)
        return pa.ListArray.from_arrays(plain.offsets, items, to)
    return pa.array(values, to)


def _schema() -> Any:
    pa = pyarrow()
    types = {
        TEXT: pa.string(),
        WHOLE: pa.int64(),
        NUMBER: pa.float64(),
        JSON: pa.json_(),
        JSON_LIST: pa.list_(pa.json_()),
    }
    features = {name: _FEATURES[kind] for name, kind in COLUMNS.items()}
    declared = jsonio.dumps({"info": {"features": features}})
    fields = [pa.field(name, types[kind]) for name, kind in COLUMNS.items()]
    return pa.schema(fields, metadata={b"huggingface": declared})
