"""From what a user names to files: paths, folders, globs, fsspec URLs, standard input."""

from __future__ import annotations

import glob
import os
import re
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

from whileai_core.errors import SourceNotFound, UnreadableSource

if TYPE_CHECKING:
    from collections.abc import Iterable

STDIN = "-"
_LINKED_FOLDER = "a link to a folder; name it itself to have it read"
_ESCAPED_BYTE = re.compile(r"\\x([89a-f][0-9a-f])")


class Skipped(NamedTuple):
    """What lies in a folder, or matches a glob, and cannot be read as a file.

    Attributes:
        name: Its path, as it may be `shown`.
        reason: What it is, for a person.
    """

    name: str
    reason: str


class Found(NamedTuple):
    """What a path, folder, glob or URL stands for; both sorted by name."""

    files: list[str]
    skipped: list[Skipped]


def find_sources(source: str | os.PathLike[str]) -> list[str]:
    """Return the files of `find`, for who does not ask what was skipped."""
    return find(source).files


def find(source: str | os.PathLike[str]) -> Found:
    """Find the files a path, folder, glob or URL stands for.

    Folders are searched through; hidden files and folders in them are left out. A file is
    found whatever its name. An empty folder gives no files. Pipes, sockets, devices, links to
    nothing or to folders, and what may not be read are skipped, unless they are named themselves.

    Raises:
        SourceNotFound: It names nothing that exists.
        UnreadableSource: A remote file system refuses or is not installed.
    """
    name = os.fspath(source)
    if name == STDIN:
        return Found([name], [])
    if _is_url(name):
        return Found(_find_remote(name), [])
    if not name:  # which Path takes for the working folder
        raise SourceNotFound("the path is empty; name a file, a folder or a URL")
    if not exists(name):
        name = _as_stored(name)
    if exists(name):
        return _sorted(_below(Path(name))) if Path(name).is_dir() else Found([name], [])
    found = _sorted(piece for match in _matches(name) for piece in _expanded(Path(match)))
    if not any(found):
        raise _not_found(name)
    return found


def _sorted(pieces: Iterable[str | Skipped]) -> Found:
    different = set(pieces)
    files = sorted(piece for piece in different if not isinstance(piece, Skipped))
    return Found(files, sorted(piece for piece in different if isinstance(piece, Skipped)))


def exists(name: str) -> bool:
    """Tell whether a path names something on this machine; any text may be asked about."""
    try:
        return Path(name).exists()
    except (OSError, ValueError):  # a name too long, or with a NUL in it
        return False


def is_json_text(text: str) -> bool:
    """Tell whether a text handed over as a source is JSON itself, and no file's name."""
    return text.lstrip()[:1] in ("{", "[") and not exists(text)


def shown(name: str) -> str:
    r"""Return a name as text that can be stored and printed; `find_sources` takes it back.

    File names are bytes. What is no UTF-8 in them comes as lone surrogates, which neither JSON
    nor a terminal takes; it is escaped, as in `caf\xe9.jsonl`.
    """
    try:
        data = name.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        data = name.encode("utf-8", "backslashreplace")
    return data.decode("utf-8", "backslashreplace")


def _as_stored(name: str) -> str:
    """Undo `shown`."""
    return _ESCAPED_BYTE.sub(lambda match: chr(0xDC00 + int(match[1], 16)), name)


def _matches(pattern: str) -> list[str]:
    """Return what a glob matches; a folder in it that exists as it is written is that folder."""
    if not glob.has_magic(pattern):
        return []
    for folder in map(str, Path(pattern).parents):
        if pattern.startswith(folder) and glob.has_magic(folder) and exists(folder):
            pattern = glob.escape(folder) + pattern.removeprefix(folder)
            break
    try:
        return glob.glob(pattern, recursive=True)  # noqa: PTH207  Path.glob takes no absolute one
    except (OSError, ValueError) as error:
        raise _not_found(pattern) from error


def open_raw(name: str) -> BinaryIO:
    """Open one found file for reading bytes as they are stored.

    Raises:
        SourceNotFound: It is not there (any more).
        UnreadableSource: It cannot be opened.
    """
    if name == STDIN:
        return sys.stdin.buffer
    try:
        if _is_url(name):
            system, path = _file_system(name)
            return cast("BinaryIO", system.open(path, "rb"))
        _check_device(Path(name))
        return Path(name).open("rb")
    except UnreadableSource:
        raise
    except FileNotFoundError as error:
        raise _not_found(name) from error
    except (OSError, ValueError) as error:
        raise _unreadable(name, error) from error


def _check_device(path: Path) -> None:
    """Refuse a device, which may never end."""
    if path.is_block_device() or path.is_char_device():
        raise UnreadableSource(
            f"{shown(str(path))} is a device; name a file, a folder or -, which is standard input"
        )


def _is_url(name: str) -> bool:
    return "://" in name


def _expanded(path: Path) -> Iterable[str | Skipped]:
    return _below(path) if path.is_dir() else [_piece(path)]


def _below(top: Path) -> Iterable[str | Skipped]:
    closed: list[OSError] = []
    for parent, folders, files in os.walk(top, onerror=closed.append):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in folders:
            if Path(parent, name).is_symlink():  # which is not walked into: it may lead back here
                yield Skipped(shown(str(Path(parent, name))), _LINKED_FOLDER)
        for name in files:
            if not name.startswith("."):
                yield _piece(Path(parent, name))
    for error in closed:
        if str(error.filename) == str(top):
            raise _unreadable(str(top), error) from error
        yield Skipped(shown(str(error.filename)), f"cannot be read ({error.strerror})")


def _piece(path: Path) -> str | Skipped:
    """Name a file that was come across; one called `-` is not standard input."""
    reason = _why_not(path)
    if reason is not None:
        return Skipped(shown(str(path)), reason)
    return f"./{path}" if str(path) == STDIN else str(path)


def _why_not(path: Path) -> str | None:
    """Say why what was come across cannot be read as a file; None when it can."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        if path.is_symlink():
            return "a link to nothing"
        return f"cannot be read ({error.strerror})"
    if stat.S_ISREG(mode):
        return None if os.access(path, os.R_OK) else "cannot be read (Permission denied)"
    kinds = ((stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"))
    return next((kind for test, kind in kinds if test(mode)), "a device")


def _find_remote(url: str) -> list[str]:
    system, path = _file_system(url)
    try:
        is_glob = glob.has_magic(path) and not system.exists(path)
        if is_glob:
            names = system.glob(path)
            files = [name for name in names if not system.isdir(name)]
        elif system.isdir(path):
            files = system.find(path)
        else:
            files = [path] if system.exists(path) else []
            if not files:
                raise _not_found(url)
    except FileNotFoundError as error:
        raise _not_found(url) from error
    except SourceNotFound:
        raise
    except Exception as error:  # each backend raises errors of its own library
        raise _unreadable(url, error) from error
    if not files and is_glob:
        raise _not_found(url)
    return sorted(str(system.unstrip_protocol(name)) for name in files)


def _file_system(url: str) -> tuple[Any, str]:
    import fsspec

    try:
        # A process that lives for many nights must see what came since the last.
        system, path = fsspec.core.url_to_fs(url, use_listings_cache=False)
    except (ImportError, ValueError, OSError) as error:
        raise _unreadable(url, error) from error
    return system, path


def _not_found(name: str) -> SourceNotFound:
    try:
        target = Path(name).readlink()
    except (OSError, ValueError):
        pass
    else:
        return SourceNotFound(
            f"{shown(name)} is a link to {shown(str(target))}, which is not there"
        )
    return SourceNotFound(
        f"{without_secrets(name)}: no such file, folder or match; check the path and try again"
    )


def _unreadable(name: str, error: Exception) -> UnreadableSource:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else None
    return UnreadableSource(
        f"{without_secrets(name)} cannot be read ({reason or type(error).__name__}); "
        "check its permissions and that its file system is installed"
    )


def without_secrets(name: str) -> str:
    """Return a name as it may be `shown`, without the user part and the query of a URL."""
    name = shown(name)
    if not _is_url(name):
        return name
    scheme, _, rest = name.partition("://")
    return f"{scheme}://{rest.partition('?')[0].rpartition('@')[2]}"
