"""What a loop must know of its target, read from the target page's front matter. Refuses values that it cannot use, with the field's name."""

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from kb import KbError, store
from kb.page import Page, read
from kb.run.criterion import criteria_of
from kb.run.direction import Direction, direction_from, direction_of
from kb.run.noise import least_effect_of
from kb.run.record import Falsification
from kb.schema import folders_of

# Commands of the autoresearch convention, taken where the target page names none.
BENCHMARKS = (".auto/measure.sh", "autoresearch.sh")
CHECKS = (".auto/checks.sh", "autoresearch.checks.sh")
# What builds a program wherever it stands at the top of a repository: protected, unless the target or the proposal says otherwise.
BUILD_FILES = (
    "Makefile",
    "makefile",
    "GNUmakefile",
    "CMakeLists.txt",
    "build.sh",
    "build.ninja",
    "meson.build",
    "setup.py",
    "build.rs",
)


@dataclass(frozen=True, slots=True)
class Target:
    """A target page's front matter. `path` is empty where there is no page; `bounds` hold for a correct result.

    `min_effect` and `noise` are (width, is it relative), the first None where the kind of metric tells; `noise_limit` is a relative
    stddev, 0 where there is no such rule; `most` bounds added repeats; `writable` are folders that a sandboxed command may write to.
    """

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
    min_effect: tuple[float, bool] | None = None
    noise: tuple[float, bool] = (0.0, False)
    noise_limit: float = 0.0
    repeats: int = 5
    most: int = 0
    warmup: int = 1
    timeout_s: float = 600.0
    artifact_folder: str = "artifacts"
    sandbox: str = ""
    network: bool = False
    writable: tuple[str, ...] = ()

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names that the target is known to report."""
        return tuple(
            dict.fromkeys(
                n for n in (self.metric, *self.tracked, *(b.metric for b in self.bounds)) if n
            )
        )

    def direction_for(self, metric: str) -> Direction | None:
        """Which way a metric of this target is better: as its page says, else as its name says."""
        if metric == self.metric and self.direction:
            return self.direction
        return dict(self.directions).get(metric) or direction_of(metric)

    def least_effect(self, metric: str, parent: float) -> float:
        """The relative gain that matters: of the primary metric what the page says, and no less than its noise band."""
        least = least_effect_of(metric)
        if metric != self.metric:
            return least
        stated = least if self.min_effect is None else _relative(self.min_effect, parent)
        return max(stated, _relative(self.noise, parent))


def _relative(width: tuple[float, bool], parent: float) -> float:
    return width[0] if width[1] else width[0] / abs(parent) if parent else 0.0


def target_named(layout: store.Layout, name: str) -> Target:
    """The target of that name; one without a page where only its experiments folder is there. Raises KbError where neither is."""
    if not re.fullmatch(r"[\w.+-]+(?:/[\w.+-]+)*", name) or {".", ".."} & set(name.split("/")):
        raise KbError(
            f"target '{name}' is no name for a folder: letters, digits, '.', '_', '-' and '/' between them"
        )
    for folder in folders_of("target"):
        file = layout.wiki / folder / f"{name}.md"
        if file.is_file():
            path = file.relative_to(layout.root).as_posix()
            return target_of(read(path, file.read_bytes()), name=name)
    if (layout.wiki / "experiments" / name).is_dir():
        return Target(name)
    known = sorted(
        f.stem for folder in folders_of("target") for f in (layout.wiki / folder).glob("*.md")
    )
    said = f"; targets here: {', '.join(known[:8])}" if known else ""
    raise KbError(
        f"no target '{name}': wiki/targets/{name}.md names the metric and the benchmark of a loop; write it first{said}"
    )


def target_of(page: Page, *, name: str) -> Target:
    """Target of a target page."""
    metric = page.front.get("metric")
    about = metric if isinstance(metric, dict) else {}
    named = str(about.get("name") or page.field("metric"))
    direction = direction_from(about.get("direction") or page.field("direction")) or direction_of(
        named
    )
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
        _width(page, "min_effect"),
        _noise(page),
        _share(page, "noise_limit"),
        int(_number(page, "repeats", 5, least=1)),
        int(_number(page, "most", 0, least=0)),
        int(_number(page, "warmup", 1, least=0)),
        _number(page, "timeout", 600, least=0.1),
        _folder(page, "artifact_folder", "artifacts"),
        page.field("sandbox").lower(),
        page.field("network").lower() in ("yes", "true", "on"),
        page.words("writable"),
    )


def _command(page: Page, key: str) -> str:
    value = page.front.get(key)
    if isinstance(value, (list, dict)):
        raise KbError(
            f"{page.path}:{page.front_lines.get(key, 1)}: '{key}' takes one shell command as text"
        )
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


_WIDTH = re.compile(r"\s*(?:±|\+/-)?\s*(\d+(?:\.\d+)?|\.\d+)\s*(%?)")


def _noise(page: Page) -> tuple[float, bool]:
    """The band that `noise:` states: `0.5`, `±0.5 ms`, or relative as `2 %`; words that hold no number say nothing."""
    value = page.front.get("noise")
    match = _WIDTH.match(
        str(value.get("band", "")) if isinstance(value, dict) else page.field("noise")
    )
    return (
        (0.0, False)
        if not match
        else (float(match[1]) / 100, True)
        if match[2]
        else (float(match[1]), False)
    )


def _width(page: Page, key: str) -> tuple[float, bool] | None:
    """`2 %`, or `0.5` in the metric's unit; None where the page says nothing."""
    text = page.field(key)
    match = _WIDTH.match(text)
    if text and not match:
        raise KbError(
            f"{page.path}:{page.front_lines.get(key, 1)}: '{key}: {text}' must be a share such as 2 %, or a number in the metric's unit"
        )
    return (
        None
        if not match
        else (float(match[1]) / 100, True)
        if match[2]
        else (float(match[1]), False)
    )


def _share(page: Page, key: str) -> float:
    width = _width(page, key)
    if width and not width[1]:
        raise KbError(
            f"{page.path}:{page.front_lines.get(key, 1)}: '{key}' must be a share such as 2 %"
        )
    return width[0] if width else 0.0


def _folder(page: Page, key: str, default: str) -> str:
    text = page.field(key) or default
    if (
        text.startswith("/")
        or ".." in PurePosixPath(text).parts
        or text.split("/")[0] in ("wiki", "sources", "indexes", "site", ".kb")
    ):
        raise KbError(
            f"{page.path}:{page.front_lines.get(key, 1)}: '{key}: {text}' must be a folder of its own inside the knowledge base"
        )
    return text


def _number(page: Page, key: str, default: float, *, least: float) -> float:
    text = page.field(key)
    if not text:
        return default
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(?:s|sec|seconds)?", text)
    if not match or float(match[1]) < least:
        raise KbError(
            f"{page.path}:{page.front_lines.get(key, 1)}: '{key}: {text}' must be a number of at least {least:g}"
        )
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
