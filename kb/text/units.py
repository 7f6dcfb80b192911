"""Units by their spellings: what each measures and how many of its dimension's base unit it is. Refuses to convert across dimensions."""

from functools import lru_cache
from typing import NamedTuple


class Unit(NamedTuple):
    """`dimension` is what is measured, `factor` how many of its base units (s, B, flop, W, J, Hz, share, ×) one is; `name` its one spelling."""

    name: str
    dimension: str
    factor: float


_WORDS = (("k", "kilo"), ("M", "mega"), ("G", "giga"), ("T", "tera"))
_PREFIXES = {
    "n": (1e-9, "nano"), "µ": (1e-6, "micro"), "m": (1e-3, "milli"), "c": (1e-2, "centi"), "": (1.0, ""),
    "k": (1e3, "kilo"), "M": (1e6, "mega"), "G": (1e9, "giga"),
}  # fmt: skip


def _rows(
    symbol: str, words: str, prefixes: str, *, size: float = 1.0
) -> tuple[tuple[str, float, str], ...]:
    """Rows of a unit under prefixes, `-` for none, by symbol and in words. A bare `m`, `A` or `g` is a name as often as a unit: words alone."""
    rows = []
    for prefix in prefixes.replace("-", " "):
        factor, word = _PREFIXES[prefix.strip()]
        spelt = " ".join(f"{word}{w} {word}{w}s" for w in words.split())
        name = f"{prefix.strip()}{symbol}"
        rows.append(
            (name if len(name) > 1 or name in "WJ" else spelt.split()[0], factor * size, spelt)
        )
    return tuple(rows)


_TABLE = {
    "time": (
        ("ns", 1e-9, "nsec nanosecond nanoseconds"),
        ("us", 1e-6, "µs μs usec microsecond microseconds"),
        ("ms", 1e-3, "msec millisecond milliseconds millis"),
        ("s", 1.0, "sec secs second seconds"),
        ("min", 60.0, "mins minute minutes"),
        ("h", 3600.0, "hr hrs hour hours"),
        ("d", 86400.0, "day days"),
    ),
    "size": (
        ("B", 1.0, "byte bytes"),
        *((f"{p}bit", 0.125 * 1e3**n, f"{p}bits {p}bps") for n, p in enumerate(("", *"kMGT"))),
        *((f"{p}B", 1e3**n, f"{word}byte {word}bytes") for n, (p, word) in enumerate(_WORDS, 1)),
        *((f"{p}bit", 125 * 1e3**n, f"{word}bit {word}bits") for n, (p, word) in enumerate(_WORDS)),
        *((f"{p}B", 1e3**n, f"{p}b" if p != "k" else "KB kb") for n, p in enumerate("kMGTP", 1)),
        *(
            (
                f"{w[0].upper()}iB",
                1024.0**n,
                f"{w[0].upper()}i {w[0].upper()}ib {w}byte {w}bytes".replace("Ki ", "ki Ki kiB "),
            )
            for n, w in enumerate("kibi mebi gibi tebi pebi".split(), 1)
        ),
    ),
    "work": tuple(
        (f"{p}FLOP", 1e3**n, f"{p}FLOPs {p}flop {p}flops" if p else "flop")
        for n, p in enumerate(("", "K", "M", "G", "T", "P", "E"))
    ),
    "compute": tuple(
        (f"{p}FLOP/s", 1e3**n, f"{p}FLOPS {p}flop/s")
        for n, p in enumerate(("", "K", "M", "G", "T", "P", "E"))
    ),
    "tokens": (("tok", 1.0, "t token tokens toks"),),
    "share": (("%", 0.01, "percent per cent pct"), ("pp", 0.01, "percentage points")),
    "ratio": (("×", 1.0, "x X times"),),
    "frequency": tuple((*r[:2], f"{r[2]} {r[0].lower()}") for r in _rows("Hz", "hertz", "-kMG")),
    "power": (*_rows("W", "watt", "m-kM"), ("kW", 1e3, "kw")),
    "energy": (
        *_rows("J", "joule", "m-kM"),
        *_rows("Wh", "watt-hour", "m-kM", size=3600.0),
        ("kWh", 3.6e6, "kwh"),
    ),
    "length": _rows("m", "metre meter", "nµmc-k"),
    "mass": _rows("g", "gram gramme", "µm-k"),
    "volume": _rows("l", "litre liter", "m-"),
    "voltage": _rows("V", "volt", "µm-k"),
    "current": _rows("A", "ampere amp", "nµm-"),
    "pressure": _rows("Pa", "pascal", "-kM"),
    "work items": tuple(
        (name, 1.0, more)
        for name, more in (
            ("it", "iter iters iteration iterations"),
            ("step", "steps"),
            ("img", "imgs image images"),
            ("sample", "samples"),
            ("req", "reqs request requests"),
            ("op", "ops"),
            ("frame", "frames"),
            ("query", "queries"),
        )
    ),
    "loss": (
        ("bpb", 1.0, "bits/byte"),
        ("bpc", 1.0, ""),
        ("nats", 1.0, "nat"),
        ("dB", 1.0, "db decibel decibels"),
    ),
    "price": (("$", 1.0, "usd USD dollar dollars"),),
}
_UNITS = {
    spelling: Unit(name, dimension, factor)
    for dimension, rows in _TABLE.items()
    for name, factor, more in rows
    for spelling in (name, *more.split())
}
# Spellings that are also plain words or names: units only where they stand against their number (`3x`, `4d`), or below a bar.
AMBIGUOUS = frozenset(
    [
        "X",
        "t",
        "per",
        "cent",
        "points",
        "percentage",
        "times",
        "d",
        "no",
        "image",
        "images",
        "sample",
        "samples",
        "step",
        "steps",
        "it",
        "op",
        "ops",
        "query",
        "queries",
        "frame",
        "frames",
        "request",
        "requests",
        "iteration",
        "iterations",
        "Ki",
        "Mi",
        "Gi",
        "Ti",
        "Pi",
        "ki",
    ]
)
_RATES = {
    "tps": "tok/s",
    "tok_s": "tok/s",
    "gbps": "GB/s",
    "fps": "frame/s",
    "qps": "query/s",
    "rps": "req/s",
    "ips": "it/s",
}


# Symbols that name a unit in a rate alone (`3 m/s`): elsewhere they are names.
_SYMBOLS = {"m": "metre", "g": "gram", "l": "litre"}


@lru_cache(4096)
def unit_of(spelling: str) -> Unit | None:
    """The unit that a spelling means, `tokens/sec` and `GiB` alike; None for a word that is none. Of a rate the factor is that of the whole."""
    text = spelling.strip().replace("μ", "µ")
    text = _RATES.get(text.lower(), text)
    known = _UNITS.get(text) or _UNITS.get(text.lower())
    if known or "/" not in text:
        return known
    above, *below = (unit_of(_SYMBOLS.get(part, part)) for part in text.split("/"))
    if above is None:
        return None
    parts = [
        unit or Unit(word, word, 1.0) for unit, word in zip(below, text.split("/")[1:], strict=True)
    ]
    factor = above.factor
    for part in parts:
        factor /= part.factor
    return Unit(
        "/".join([above.name, *(p.name for p in parts)]),
        "/".join([above.dimension, *(p.dimension for p in parts)]),
        factor,
    )
