"""Near copies: how well `hash` and `ngram` tell copies from siblings, and what a search costs.

    python -m benchmarks.bench_leakage study [--pairs 4000]
    python -m benchmarks.bench_leakage speed [--n 10000] [--pairs 5]

`study` makes labelled pairs of asks: siblings (one template, one slot filled differently) and
near copies (typos, letter case, courtesy, punctuation, clauses in another order, and all of it
together), and prints precision and recall at the threshold, and the flagged share by kind.

`speed` compares `leakage_report` with its two unavoidable parts on the same texts, interleaved:
`vectors` (both lists through the embedder) and `matmul` (the float32 product of both matrices
in blocks). Ratios are medians with their range. Everything is seeded.

    python benchmarks/bench_leakage.py scale [--n 100000] [--m 60000] [--traffic prose]

`scale` runs `ngram` at the size of a large night, on asks of templates with identifiers or on
prose without, and compares time with `vectors` and `matmul` (both extrapolated from 4,096 texts a
side) and memory with what was in use before. Set OPENBLAS_NUM_THREADS=1 on a busy machine:
threads of BLAS that wait for one another for a share of a core make any ratio meaningless.
"""

from __future__ import annotations

import argparse
import random
import resource
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from whileai_core import leakage_report
from whileai_core.traces.embedders import embedding
from whileai_core.traces.identifiers import alike
from whileai_core.traces.nearcopies import near_copies

SLOT_WORDS = {
    "verb": "cancel refund track reschedule upgrade return exchange locate confirm dispute renew "
    "pause ship transfer split merge verify unlock archive",
    "noun": "order parcel booking invoice subscription seat ticket warranty account payment "
    "deposit coupon device router policy claim appointment",
    "state": "late damaged duplicate missing partial wrong expired pending urgent refurbished "
    "prepaid international fragile second",
    "place": "Lisbon Osaka Nairobi Denver Cork Quito Perth Lyon Accra Bergen Leeds Porto Kobe "
    "Utrecht Graz Vienna",
}
SLOTS = {slot: words.split() for slot, words in SLOT_WORDS.items()}
SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu bra cle dri flo"
REASONS = (
    "because the label was torn",
    "since my card got replaced",
    "as nobody answered the phone",
    "after the driver left it outside",
    "because I moved house last month",
    "as the app keeps crashing",
)
CLOSERS = (
    "please reply today",
    "thanks in advance",
    "I need this before friday",
    "let me know what you require",
    "keep the original receipt",
)
TEMPLATES = (
    "{verb} {noun} {id}",
    "{verb} my {noun} {id}",
    "{verb} the {state} {noun} {id} in {place}",
    "Please {verb} the {state} {noun} {id} in {place} {reason}",
    "Please {verb} the {state} {noun} {id} in {place} {reason}, {closer}.",
    "Is there a {state} {noun} in {place}?",
    "Can you {verb} the {noun} for {place}?",
    "How do I {verb} a {state} {noun} in {place} {reason}?",
    "I would like to {verb} a {noun} from {place} on {id}",
    "Where is {noun} {id}? It was due in {place} {reason}.",
)
GREETINGS = ("Hi, {}", "Hello, could you please {}", "{} Thanks!", "Hey there, {} - thank you")


def values(rng: random.Random) -> dict[str, str]:
    drawn = {slot: rng.choice(options) for slot, options in SLOTS.items()}
    drawn["reason"], drawn["closer"] = rng.choice(REASONS), rng.choice(CLOSERS)
    drawn["id"] = rng.choice((str(rng.randint(1000, 99999)), f"A-{rng.randint(100, 9999)}"))
    return drawn


def typo(rng: random.Random, text: str) -> str:
    words = text.split()
    long = [place for place, word in enumerate(words) if word.isalpha() and len(word) > 3]
    place = rng.choice(long)
    word = words[place]
    cut = rng.randrange(1, len(word) - 1)
    words[place] = rng.choice(
        (
            word[:cut] + word[cut + 1 :],
            word[:cut] + word[cut + 1] + word[cut] + word[cut + 2 :],
            word[:cut] + rng.choice("aeiourst") + word[cut:],
        )
    )
    return " ".join(words)


def courtesy(rng: random.Random, text: str) -> str:
    return rng.choice(GREETINGS).format(text[0].lower() + text[1:])


def letter_case(rng: random.Random, text: str) -> str:
    return rng.choice((text.upper(), text.lower(), text.title()))


def punctuation(rng: random.Random, text: str) -> str:
    return rng.choice((text + "!!", text.replace(" ", " -- ", 1), f'"{text}"'))


def reordered(_rng: random.Random, text: str) -> str:
    words = text.split()
    return " ".join(words[len(words) // 2 :] + words[: len(words) // 2])


def everything(rng: random.Random, text: str) -> str:
    return courtesy(rng, typo(rng, letter_case(rng, text)))


NEAR: dict[str, Callable[[random.Random, str], str]] = {
    "one typo": typo,
    "two typos": lambda rng, text: typo(rng, typo(rng, text)),
    "courtesy": courtesy,
    "letter case": letter_case,
    "punctuation": punctuation,
    "reordered": reordered,
    "all together": everything,
}


def labelled_pairs(n: int) -> list[tuple[bool, str, str, str]]:
    """Return (is a copy, kind, text, other text), half of them copies."""
    rng = random.Random(5)
    pairs = []
    for _ in range(n // 2):
        template, filled = rng.choice(TEMPLATES), values(rng)
        text = template.format(**filled)
        kind = rng.choice(list(NEAR))
        pairs.append((True, kind, text, NEAR[kind](rng, text)))
        slot = rng.choice([s for s in ("id", *SLOTS) if f"{{{s}}}" in template])
        other = dict(filled)
        while other[slot] == filled[slot]:
            other[slot] = values(rng)[slot]
        pairs.append((False, f"other {slot}", text, template.format(**other)))
    return pairs


def similarities(name: str, pairs: list[tuple[bool, str, str, str]]) -> Any:
    how = embedding(name)
    one = how.embed([pair[2] for pair in pairs]).astype(np.float64)
    other = how.embed([pair[3] for pair in pairs]).astype(np.float64)
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    cosines = np.maximum((one * other).sum(axis=1) / np.maximum(lengths, 1e-12), 0.0)
    if how.identifiers is not None:
        named = [[how.identifiers(text) for text in pair[2:]] for pair in pairs]
        shares = [next(alike([ours], {theirs}, 1e-9), None) for ours, theirs in named]
        cosines *= [pair.share if pair else 0.0 for pair in shares]
    return cosines**how.sharpness


def study(n: int) -> None:
    pairs = labelled_pairs(n)
    copies = np.array([pair[0] for pair in pairs])
    kinds = np.array([pair[1] for pair in pairs])
    for name in ("hash", "ngram"):
        found = similarities(name, pairs)
        for threshold in (0.8, 0.9, 0.95):
            flagged = found >= threshold
            right = (flagged & copies).sum()
            precision, recall = right / max(1, flagged.sum()), right / copies.sum()
            print(f"{name:<6} at {threshold}: precision {precision:.3f}, recall {recall:.3f}")
        flagged = found >= 0.9
        for kind in sorted(set(kinds), key=lambda kind: (kind.startswith("other"), kind)):
            print(f"    {kind:<14} flagged {flagged[kinds == kind].mean():.2f}")


def prompts(n: int, seed: str) -> list[str]:
    """Return n texts of 12 to 45 words; a few words are everywhere, most are rare."""
    rng = random.Random(seed)
    parts = SYLLABLES.split()
    words = ["".join(random.Random(w).choices(parts, k=2 + w % 3)) for w in range(4000)]
    return [
        f"Case {rng.randint(1, 99999)}: "
        + " ".join(words[int(4000 * rng.random() ** 3)] for _ in range(rng.randint(12, 45)))
        for _ in range(n)
    ]


def timed(function: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[float, Any]:
    start = time.perf_counter()
    found = function(*args, **kwargs)
    return time.perf_counter() - start, found


def both_embedded(name: str, generated: list[str], sources: list[str]) -> tuple[Any, Any]:
    embed = embedding(name).embed
    return embed(generated), embed(sources)


def products(rows: Any, sources: Any) -> None:
    for start in range(0, len(rows), 512):
        for first in range(0, len(sources), 2048):
            rows[start : start + 512] @ sources[first : first + 2048].T


def speed(n: int, pairs: int, name: str) -> None:
    sources, generated = prompts(n, "sources"), prompts(n, "generated")
    generated[: n // 50] = sources[: n // 50]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    over_vectors, over_both, beyond = [], [], []
    for _ in range(pairs):
        report = timed(leakage_report, generated, sources, embedder=name)[0]
        vectors, (rows, against) = timed(both_embedded, name, generated, sources)
        matmul = timed(products, rows, against)[0]
        over_vectors.append(report / vectors)
        over_both.append(report / (vectors + 1.5 * matmul))
        beyond.append((report - vectors) / matmul)
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    for label, ratios in (
        ("report / vectors", over_vectors),
        ("report / (vectors + 1.5 matmul)", over_both),
        ("(report - vectors) / matmul", beyond),
    ):
        spread = f"{min(ratios):.2f}-{max(ratios):.2f}"
        print(f"{name} {n} x {n}  {label:<33}{statistics.median(ratios):.2f}  ({spread})")
    print(f"{name} {n} x {n}  peak above the texts: {peak:.0f} MB (both parts kept included)")


def asks(kind: str, n: int, seed: str) -> list[str]:
    """Return n distinct asks: of templates, nearly all with identifiers; or prose without."""
    rng = random.Random(seed)
    if kind == "prose":
        return [text.split(": ")[1] for text in prompts(n, seed)]
    found: dict[str, None] = {}
    while len(found) < n:
        found[rng.choice(TEMPLATES[:5] + TEMPLATES[8:]).format(**values(rng))] = None
    return list(found)


def scale(kind: str, n: int, m: int) -> None:
    texts, anchors = asks(kind, n, "texts"), asks(kind, m, "anchors")
    rng = random.Random(9)
    texts[: n // 50] = [NEAR[rng.choice(list(NEAR))](rng, text) for text in anchors[: n // 50]]
    sample = 4096
    vectors, (rows, against) = timed(both_embedded, "ngram", texts[:sample], anchors[:sample])
    matmul = timed(products, rows, against)[0] * (n / sample) * (m / sample)
    vectors *= (n + m) / (2 * sample)
    for name, run in (
        ("near_copies", lambda: len(near_copies(texts, anchors))),
        (
            "leakage_report",
            lambda: leakage_report(texts[n // 50 :], anchors, embedder="ngram")["max_similarity"],
        ),
    ):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        seconds, found = timed(run)
        peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        print(
            f"{kind} {n} x {m}  {name:<15} {seconds / vectors:6.2f} x vectors, "
            f"{seconds / (vectors + matmul):.3f} x (vectors + matmul), peak +{peak:.0f} MB, "
            f"found {found}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("what", choices=("study", "speed", "scale"))
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--m", type=int, help="anchors for scale; 0.6 n unless told")
    parser.add_argument("--pairs", type=int)
    parser.add_argument("--traffic", default="templates", choices=("templates", "prose"))
    parser.add_argument("--embedder", default="hash", choices=("hash", "ngram"))
    options = parser.parse_args()
    if options.what == "study":
        study(options.pairs or 4000)
    elif options.what == "scale":
        scale(options.traffic, options.n, options.m or options.n * 6 // 10)
    else:
        speed(options.n, options.pairs or 5, options.embedder)


if __name__ == "__main__":
    main()
