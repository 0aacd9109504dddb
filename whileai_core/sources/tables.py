"""Parquet and Arrow files: each table row is a record."""

from __future__ import annotations

import base64
import datetime
import decimal
from typing import TYPE_CHECKING, Any

from whileai_core import jsonio
from whileai_core.errors import MissingExtra
from whileai_core.sources.items import Origin, Record, Reject

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

PARQUET_MAGIC = b"PAR1"
ARROW_FILE_MAGIC = b"ARROW1"
ARROW_STREAM_MAGIC = b"\xff\xff\xff\xff"
MAGIC = (PARQUET_MAGIC, ARROW_FILE_MAGIC, ARROW_STREAM_MAGIC)

_ROWS_AT_ONCE = 1024


def table_records(file: BinaryIO, name: str, head: bytes) -> Iterator[Record | Reject]:
    """Yield the rows of a table. Nulls are left out: a table cannot tell them from absent keys.

    Raises:
        MissingExtra: pyarrow is not installed.
    """
    try:
        import pyarrow as pa
    except ImportError:
        need = f"{name} is a Parquet or Arrow file; reading it needs pyarrow"
        raise MissingExtra.named("parquet", need) from None
    number = 0
    try:
        for batch in _batches(file, head):
            kinds = _json_kinds(batch.schema)
            for value in batch.to_pylist():
                number += 1
                row = _plain(value)
                for key in kinds.keys() & row.keys():
                    row[key] = _parsed(row[key], kinds[key])
                yield Record(row, Origin(name, f"item {number}"))
    except (pa.ArrowException, OSError, ValueError) as error:
        detail = f"the table is damaged: {error}"
        yield Reject("corrupt", detail, Origin(name, f"item {number + 1}"), "")


def _batches(file: BinaryIO, head: bytes) -> Iterator[Any]:
    import pyarrow as pa

    if head.startswith(PARQUET_MAGIC):
        import pyarrow.parquet as pq

        yield from pq.ParquetFile(file).iter_batches(batch_size=_ROWS_AT_ONCE)
        return
    if head.startswith(ARROW_FILE_MAGIC):
        reader = pa.ipc.open_file(file)
        batches = (reader.get_batch(index) for index in range(reader.num_record_batches))
    else:
        batches = iter(pa.ipc.open_stream(file))
    for batch in batches:
        for start in range(0, batch.num_rows, _ROWS_AT_ONCE):
            yield batch.slice(start, _ROWS_AT_ONCE)


def _json_kinds(schema: Any) -> dict[str, Any]:
    """Return the columns that hold JSON text somewhere, and their types."""
    return {field.name: field.type for field in schema if "arrow.json" in str(field.type)}


def _parsed(value: Any, kind: Any) -> Any:
    """Read the JSON texts in a value of a type that says it has some."""
    import pyarrow.types as types

    if isinstance(value, list):
        return [_parsed(item, kind.value_type) for item in value]
    if isinstance(value, dict):
        return {key: _parsed(child, kind.field(key).type) for key, child in value.items()}
    if not isinstance(value, str) or types.is_string(kind):
        return value
    try:
        return jsonio.loads(value)
    except ValueError:
        return value


def _plain(value: Any) -> Any:
    """Return a table value as JSON has it."""
    if isinstance(value, dict):
        return {key: _plain(child) for key, child in value.items() if child is not None}
    if isinstance(value, list):
        if value and all(isinstance(item, tuple) and len(item) == 2 for item in value):
            return {str(key): _plain(child) for key, child in value}  # an Arrow map
        return [_plain(item) for item in value]
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            return base64.b64encode(value).decode("ascii")
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if value is None or isinstance(value, str | int | float):
        return value
    return str(value)
