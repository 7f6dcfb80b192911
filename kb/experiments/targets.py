"""What a loop must know of its target, read from the target page's front matter. Refuses values that it cannot use, with the field's name."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from kb import KbError, store
from kb.page import Page, read
from kb.run.criterion import criteria_of
from kb.run.direction import Direction, direction_from, direction_of
from kb.run.noise import least_effect_of
from kb.run.record import Falsification
from kb.schema import folders_of

# What kb keeps at its own root: no folder for large files, and no part of the code that is measured.
OWN = ("wiki", "sources", "indexes", "prompts", "site", ".kb")
Width = tuple[float, bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """How both sides are measured: shell commands, what no change may touch, how often and how long. `most` bounds added repeats.

    Five repeats are the fewest of which ranks decide at the first look (of four the clearest order has a chance of 2.9 %, above 2.5 %);
    the first run fills caches and loads libraries, so it warms up.
    """

    metric: str = ""
    build: str = ""
    benchmark: str = ""
    checks: str = ""
    profile: str = ""
    artifacts: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    repeats: int = 5
    most: int = 0
    warmup: int = 1
    timeout_s: float = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Target(Method):
    """A target page's front matter. `path` is empty where there is no page; `bounds` hold for a correct result.

    `min_effect`, `noise` and `noise_limit` are (width, is it relative); without the first the kind of metric tells, without the last
    there is no such rule.
    """

    name: str
    path: str = ""
    repository: str = ""
    base: str = ""
    unit: str = ""
    direction: Direction | None = None
    tracked: tuple[str, ...] = ()
    directions: tuple[tuple[str, Direction], ...] = ()
    allowed: tuple[str, ...] = ()
    bounds: tuple[Falsification, ...] = ()
    min_effect: Width | None = None
    noise: Width = (0.0, True)
    noise_limit: Width = (0.0, True)
    artifact_folder: str = "artifacts"
    sandbox: str = ""
    network: bool = False

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names that the target is known to report."""
        names = (self.metric, *self.tracked, *(b.metric for b in self.bounds))
        return tuple(dict.fromkeys(n for n in names if n))

    def direction_for(self, metric: str) -> Direction | None:
        """Which way a metric of this target is better: as its page says, else as its name says."""
        stated = self.direction if metric == self.metric else None
        return stated or dict(self.directions).get(metric) or direction_of(metric)

    def least_effect(self, metric: str, parent: float) -> float:
        """The relative gain that matters: of the primary metric what the page says, and no less than its noise band."""
        if metric != self.metric:
            return least_effect_of(metric)
        widths = (self.min_effect or (least_effect_of(metric), True), self.noise)
        return max(w if relative or not parent else w / abs(parent) for w, relative in widths)


# The least that a loop can be measured by, as the front matter of a target page says it in one line.
_EXAMPLE = (
    "`{type: target, repository: ., metric: {name: time_ms, direction: lower}, build: make, benchmark: ./bench}` "
    "between two lines of `---`, where the benchmark prints `METRIC time_ms=VALUE`"
)


def target_named(layout: store.Layout, name: str) -> Target:
    """The target of that name; one without a page where only its experiments folder is there. Raises KbError where neither is."""
    if not re.fullmatch(r"[\w.+-]+(?:/[\w.+-]+)*", name) or {".", ".."} & set(name.split("/")):
        raise KbError(
            f"target '{name}' is no name for a folder: letters, digits, '.', '_', '-' and '/' between them"
        )
    homes = [layout.wiki / folder for folder in folders_of("target")]
    file = next((f for f in (home / f"{name}.md" for home in homes) if f.is_file()), None)
    if file:
        path = file.relative_to(layout.root).as_posix()
        return target_of(read(path, store.read_bytes(layout, path)), name=name)
    if (layout.wiki / "experiments" / name).is_dir():
        return Target(name=name)
    known = sorted(f.stem for home in homes for f in home.glob("*.md"))
    shown = f"; targets here: {', '.join(known[:8])}" if known else ""
    raise KbError(
        f"no target '{name}': {layout.page(f'targets/{name}.md')} names the metric and the benchmark of a loop; write it first, such as {_EXAMPLE}{shown}"
    )


def target_of(page: Page, *, name: str) -> Target:
    """Target of a target page."""
    front = page.front
    metric = front.get("metric")
    about = metric if isinstance(metric, dict) else {"name": page.field("metric")}
    primary = str(about.get("name") or "")
    stated = direction_from(about.get("direction") or page.field("direction"))
    items = front.get("tracked")
    listed = items if isinstance(items, list) else [items] if items else []
    tracked = [item if isinstance(item, dict) else {"name": item} for item in listed]
    ways = ((str(t.get("name", "")), direction_from(t.get("direction"))) for t in tracked)
    present = (key for key in _READERS if front.get(key) not in (None, ""))
    return Target(
        name=name,
        path=page.path,
        metric=primary,
        unit=str(about.get("unit") or page.field("unit")),
        direction=stated or direction_of(primary),
        tracked=tuple(str(t["name"]) for t in tracked if t.get("name")),
        directions=tuple((name, way) for name, way in ways if name and way),
        **{_FIELDS.get(key, key): _READERS[key](page, key) for key in present},
    )


def _refusal(page: Page, key: str, what: str) -> KbError:
    shown = f"{key}: {page.field(key)}".rstrip(": ")
    return KbError(f"{page.path}:{page.front_lines.get(key, 1)}: '{shown}' {what}")


def _command(page: Page, key: str) -> str:
    if isinstance(page.front[key], (list, dict)):
        raise _refusal(page, key, "takes one shell command as text")
    return page.field(key)


def _patterns(page: Page, key: str) -> tuple[str, ...]:
    for pattern in page.words(key):
        if pattern.startswith("/") or ".." in PurePosixPath(pattern).parts:
            raise _refusal(
                page, key, f"holds '{pattern}', which must be a path inside the repository"
            )
    return page.words(key)


def _bounds(page: Page, key: str) -> tuple[Falsification, ...]:
    try:
        return tuple(b for text in page.words(key) for b in criteria_of(text))
    except KbError as error:
        raise _refusal(page, key, f'takes comparisons such as "psnr >= 60": {error}') from error


_WIDTH = re.compile(r"\s*(?:±|\+/-)?\s*(\d+(?:\.\d+)?|\.\d+)\s*(%?)")


def _width(page: Page, key: str) -> Width:
    """`2 %`, or `0.5` in the metric's unit. Of `noise:` words that hold no number say nothing."""
    value = page.front[key]
    match = _WIDTH.match(str(value.get("band", "") if isinstance(value, dict) else value))
    if not match and key == "noise":
        return 0.0, True
    if not match or key == "noise_limit" and not match[2]:
        also = "" if key == "noise_limit" else ", or a number in the metric's unit"
        raise _refusal(page, key, f"must be a share such as 2 %{also}")
    return float(match[1]) / (100 if match[2] else 1), bool(match[2])


def _folder(page: Page, key: str) -> str:
    text = page.field(key)
    if text.startswith("/") or ".." in PurePosixPath(text).parts or text.split("/")[0] in OWN:
        raise _refusal(page, key, "must be a folder of its own inside the knowledge base")
    return text


def _number(page: Page, key: str) -> float:
    least = {"repeats": 1, "timeout": 0.1}.get(key, 0)
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(?:s|sec|seconds)?", page.field(key))
    if not match or float(match[1]) < least:
        raise _refusal(page, key, f"must be a number of at least {least:g}")
    return float(match[1])


_FIELDS = {"timeout": "timeout_s"}
_READERS: dict[str, Callable[[Page, str], object]] = {
    "repository": Page.field,
    "base": Page.field,
    "build": _command,
    "benchmark": _command,
    "checks": _command,
    "profile": _command,
    "artifacts": Page.words,
    "protected": _patterns,
    "allowed": _patterns,
    "bounds": _bounds,
    "min_effect": _width,
    "noise": _width,
    "noise_limit": _width,
    "repeats": lambda page, key: int(_number(page, key)),
    "most": lambda page, key: int(_number(page, key)),
    "warmup": lambda page, key: int(_number(page, key)),
    "timeout": _number,
    "artifact_folder": _folder,
    "sandbox": lambda page, key: page.field(key).lower(),
    "network": lambda page, key: page.field(key).lower() in ("yes", "true", "on"),
}


def repository_of(layout: store.Layout, target: Target) -> Path:
    """Folder of the repository that a loop optimizes: the target page's `repository:`, relative to the knowledge base.

    Raises KbError where that is no folder (a web address among them).
    """
    place = layout.root / Path(target.repository).expanduser()
    if not target.repository or not place.is_dir():
        what = f"'{target.repository}' is no folder here" if target.repository else "is not said"
        raise KbError(
            f"{layout.page(f'targets/{target.name}.md')}: its `repository:` {what}; name it as seen from {layout.root}; "
            "a result measured elsewhere is filed with --record FILE"
        )
    return place.resolve()
