"""Which files of a repository are a split: what its README says, else what their names say."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from whileai_core.errors import InputError

if TYPE_CHECKING:
    from whileai_core.hub.client import Repo

DEFAULT = "default"
_FORMATS = {
    "parquet": "parquet",
    "arrow": "arrow",
    "jsonl": "json",
    "ndjson": "json",
    "json": "json",
    "csv": "csv",
    "tsv": "csv",
}
_PACKED = {"gz", "zst", "bz2", "xz"}
_ABOUT = {"config.json", "dataset_info.json", "dataset_infos.json", "dataset_dict.json"}
_NUMBERED = re.compile(r"(?:.*/)?data/(\w+(?:\.\w+)*)-\d{5}-of-\d{5}\S*\.\w+")
# What names of files and folders say of the split; whole words only.
_WORDS = {
    "train": "train",
    "training": "train",
    "validation": "validation",
    "valid": "validation",
    "val": "validation",
    "dev": "validation",
    "test": "test",
    "testing": "test",
    "eval": "test",
    "evaluation": "test",
}
_SHOWN = 20


def split_files(repo: Repo, configs: Any, config: str | None, split: str) -> list[str]:
    """Return the files of a split, in order.

    Args:
        repo: The repository.
        configs: What the metadata of its README says of configurations.
        config: Name of a configuration; None takes the default one, or the only one.
        split: Name of the split.

    Raises:
        InputError: There is no such configuration or split, or nothing that can be read; the
            message names what there is.
    """
    listed = configs if isinstance(configs, list) else []
    splits = _splits(repo, [entry for entry in listed if isinstance(entry, dict)], config)
    files = splits.get(split)
    if not files:
        known = ", ".join(sorted(name for name, of in splits.items() if of)[:_SHOWN])
        of = f"{repo.id}, configuration {config}," if config else repo.id
        raise InputError(f"{of} has no split {split!r}; it has {known or 'none that can be read'}")
    return files


def has_data(repo: Repo) -> bool:
    """Tell whether a repository has any file of a kind that is read."""
    return any(map(format_of, repo.files))


def format_of(path: str) -> str | None:
    """Return the format of a data file by its name; None for any other file."""
    name = PurePosixPath(path)
    if name.name.startswith((".", "__")) or name.name in _ABOUT:
        return None
    endings = [ending.lstrip(".").lower() for ending in name.suffixes]
    while endings and endings[-1] in _PACKED:
        endings.pop()
    return _FORMATS.get(endings[-1]) if endings else None


def _splits(repo: Repo, configs: list[dict[str, Any]], config: str | None) -> dict[str, list[str]]:
    if not configs:
        return _by_folder(repo, config)
    chosen = _chosen(repo, configs, config)
    folder = str(chosen.get("data_dir") or "").strip("/")
    data_files = chosen.get("data_files")
    if not data_files:
        return _by_name(repo.files, folder)
    if isinstance(data_files, dict):
        data_files = [{"split": name, "path": path} for name, path in data_files.items()]
    elif isinstance(data_files, str) or not all(isinstance(e, dict) for e in data_files):
        data_files = [{"split": "train", "path": data_files}]
    return {
        str(entry.get("split")): _matching(repo.files, entry.get("path"), folder)
        for entry in data_files
    }


def _chosen(repo: Repo, configs: list[dict[str, Any]], config: str | None) -> dict[str, Any]:
    names = [str(entry.get("config_name", DEFAULT)) for entry in configs]
    if config is not None:
        if config not in names:
            raise _no_config(repo, config, names)
        return configs[names.index(config)]
    if len(configs) == 1:
        return configs[0]
    for name, entry in zip(names, configs, strict=True):
        if name == DEFAULT or entry.get("default"):
            return entry
    raise InputError(f"{repo.id} has several configurations, name one: {', '.join(names[:_SHOWN])}")


def _no_config(repo: Repo, config: str, names: list[str]) -> InputError:
    known = ", ".join(names[:_SHOWN]) or "no named ones"
    return InputError(f"{repo.id} has no configuration {config!r}; it has {known}")


def _by_folder(repo: Repo, config: str | None) -> dict[str, list[str]]:
    """Without a README that says more, a configuration is a folder."""
    if config in (None, DEFAULT):
        return _by_name(repo.files, "")
    assert config is not None  # noqa: S101  excluded above
    if not any(path.startswith(f"{config}/") for path in repo.files):
        folders = {path.split("/")[0] for path in repo.files if "/" in path and format_of(path)}
        raise _no_config(repo, config, sorted(folders - {"data"}))
    return _by_name(repo.files, config)


def _by_name(paths: list[str], folder: str) -> dict[str, list[str]]:
    inside = [path for path in paths if not folder or path.startswith(f"{folder}/")]
    formats = Counter(kind for path in inside if (kind := format_of(path)))
    if not formats:
        return {}
    # The same rows often lie there in several formats: the most frequent one is taken.
    kind = max(sorted(formats), key=lambda name: formats[name])
    inside = sorted(path for path in inside if format_of(path) == kind)
    numbered: dict[str, list[str]] = {}
    for path in inside:
        if match := _NUMBERED.fullmatch(path):
            numbered.setdefault(match[1], []).append(path)
    if numbered:
        return numbered
    named: dict[str, list[str]] = {}
    for path in inside:
        named.setdefault(_said_by(path.removeprefix(f"{folder}/")), []).append(path)
    if "" not in named:
        return named
    unnamed = named.pop("")
    # Files that are called after nothing known are splits of their own where others are.
    return {_stem(path): [path] for path in unnamed} | named if named else {"train": inside}


def _said_by(path: str) -> str:
    """Return the split that the words of a path say, the last one first; empty for none."""
    for word in reversed(re.split(r"[\W_\d]+", path.lower())):
        if word in _WORDS:
            return _WORDS[word]
    return ""


def _stem(path: str) -> str:
    return PurePosixPath(path).name.split(".")[0]


def _matching(paths: list[str], patterns: Any, folder: str) -> list[str]:
    from fsspec.utils import glob_translate

    found: dict[str, None] = {}
    for pattern in patterns if isinstance(patterns, list) else [patterns]:
        wanted = str(pattern).removeprefix("./").strip("/")
        wanted = f"{folder}/{wanted}" if folder else wanted
        fits = re.compile(glob_translate(wanted))
        for path in sorted(paths):
            if fits.match(path) or path.startswith(f"{wanted}/"):
                found[path] = None
    return [path for path in found if format_of(path)]
