"""What a loop must know of its target, read from the target page's front matter. Refuses values that it cannot use, with the field's name."""

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from kb import KbError, store
from kb.page import Page, read
from kb.run.criterion import criteria_of
from kb.run.direction import Direction, direction_from, direction_of
from kb.run.record import Falsification
from kb.schema import folders_of

# Commands of the autoresearch convention, taken where the target page names none.
BENCHMARKS = (".auto/measure.sh", "autoresearch.sh")
CHECKS = (".auto/checks.sh", "autoresearch.checks.sh")


@dataclass(frozen=True, slots=True)
class Target:
    """A target page's front matter. `path` is empty where there is no page; `noise` is (width, is it relative); `bounds` hold for a correct result."""

    name: str
    path: str = ""
    repository: str = ""
    base: str = ""
    metric: str = ""
    unit: str = ""
    direction: Direction | None = None
    tracked: tuple[str, ...] = ()
    directions: tuple[tuple[str, Direction], ...] = ()
    build: str = ""
    benchmark: str = ""
    checks: str = ""
    profile: str = ""
    artifacts: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    bounds: tuple[Falsification, ...] = ()
    noise: tuple[float, bool] = (0.0, False)
    repeats: int = 5
    timeout_s: float = 600.0

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names that the target is known to report."""
        return tuple(dict.fromkeys(n for n in (self.metric, *self.tracked, *(b.metric for b in self.bounds)) if n))

    def direction_for(self, metric: str) -> Direction | None:
        """Which way a metric of this target is better: as its page says, else as its name says."""
        if metric == self.metric and self.direction:
            return self.direction
        return dict(self.directions).get(metric) or direction_of(metric)


def target_named(layout: store.Layout, name: str) -> Target:
    """The target of that name; one without a page where only its experiments folder is there. Raises KbError where neither is."""
    if not re.fullmatch(r"[\w.+-]+(?:/[\w.+-]+)*", name) or {".", ".."} & set(name.split("/")):
        raise KbError(f"target '{name}' is no name for a folder: letters, digits, '.', '_', '-' and '/' between them")
    for folder in folders_of("target"):
        file = layout.wiki / folder / f"{name}.md"
        if file.is_file():
            path = file.relative_to(layout.root).as_posix()
            return target_of(read(path, file.read_bytes()), name=name)
    if (layout.wiki / "experiments" / name).is_dir():
        return Target(name)
    known = sorted(f.stem for folder in folders_of("target") for f in (layout.wiki / folder).glob("*.md"))
    said = f"; targets here: {', '.join(known[:8])}" if known else ""
    raise KbError(
        f"no target '{name}': wiki/targets/{name}.md names the metric and the benchmark of a loop; write it first{said}"
    )


def target_of(page: Page, *, name: str) -> Target:
    """Target of a target page."""
    metric = page.front.get("metric")
    about = metric if isinstance(metric, dict) else {}
    named = str(about.get("name") or page.field("metric"))
    direction = direction_from(about.get("direction") or page.field("direction")) or direction_of(named)
    tracked, directions = _tracked(page)
    return Target(
        name,
        page.path,
        page.field("repository"),
        page.field("base"),
        named,
        str(about.get("unit") or page.field("unit")),
        direction,
        tracked,
        directions,
        page.field("build"),
        _command(page, "benchmark"),
        _command(page, "checks"),
        _command(page, "profile"),
        page.words("artifacts"),
        _patterns(page, "protected"),
        _patterns(page, "allowed"),
        _bounds(page),
        _noise(page),
        int(_number(page, "repeats", 5, least=1)),
        _number(page, "timeout", 600, least=0.1),
    )


def _command(page: Page, key: str) -> str:
    value = page.front.get(key)
    if isinstance(value, (list, dict)):
        raise KbError(f"{page.path}:{page.front_lines.get(key, 1)}: '{key}' takes one shell command as text")
    return page.field(key)


def _patterns(page: Page, key: str) -> tuple[str, ...]:
    for pattern in page.words(key):
        if pattern.startswith("/") or ".." in PurePosixPath(pattern).parts:
            raise KbError(
                f"{page.path}:{page.front_lines.get(key, 1)}: '{pattern}' in '{key}' must be a path inside the repository"
            )
    return page.words(key)


def _bounds(page: Page) -> tuple[Falsification, ...]:
    try:
        return tuple(b for text in page.words("bounds") for b in criteria_of(text))
    except KbError as error:
        raise KbError(
            f"{page.path}:{page.front_lines.get('bounds', 1)}: 'bounds' takes comparisons such as \"psnr >= 60\": {error}"
        ) from error


def _tracked(page: Page) -> tuple[tuple[str, ...], tuple[tuple[str, Direction], ...]]:
    """Tracked metrics, written as names or as {name, unit, direction}."""
    value = page.front.get("tracked")
    names, directions = [], []
    for item in value if isinstance(value, list) else [value] if value else []:
        name = str(item.get("name", "")) if isinstance(item, dict) else str(item)
        said = direction_from(item.get("direction")) if isinstance(item, dict) else None
        if name:
            names.append(name)
        if name and said:
            directions.append((name, said))
    return tuple(names), tuple(directions)


def _noise(page: Page) -> tuple[float, bool]:
    """The band that `noise:` states: `0.5`, `±0.5 ms`, or relative as `2 %`; words that hold no number say nothing."""
    value = page.front.get("noise")
    text = str(value.get("band", "")) if isinstance(value, dict) else page.field("noise")
    match = re.match(r"\s*(?:±|\+/-)?\s*(\d+(?:\.\d+)?)\s*(%?)", text)
    if not match:
        return 0.0, False
    return (float(match[1]) / 100, True) if match[2] else (float(match[1]), False)


def _number(page: Page, key: str, default: float, *, least: float) -> float:
    text = page.field(key)
    if not text:
        return default
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(?:s|sec|seconds)?", text)
    if not match or float(match[1]) < least:
        raise KbError(f"{page.path}:{page.front_lines.get(key, 1)}: '{key}: {text}' must be a number of at least {least:g}")
    return float(match[1])


def repository_of(layout: store.Layout, target: Target, *, given: str = "") -> Path:
    """Folder of the repository that a loop optimizes: what was given, else the target page's `repository:`, relative to the knowledge base.

    Raises KbError where that is no folder (a web address among them).
    """
    where = given or target.repository
    if not where:
        raise KbError(
            f"where is the repository of '{target.name}'? say `--repo FOLDER`, or `repository:` in wiki/targets/{target.name}.md"
        )
    folder = Path(where).expanduser() if given else layout.root / Path(where).expanduser()
    if not folder.is_dir():
        raise KbError(
            f"the repository '{where}' of '{target.name}' is no folder here; say `--repo FOLDER`, or file a result measured elsewhere with --record FILE"
        )
    return folder.resolve()
