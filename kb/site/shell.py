"""The shell around every page: header, navigation, style. MkDocs with Material gives one, a template of our own the other.

A shell is rendered once for each depth of folder with slots in it, and filled for every page. Refuses to run anything of the knowledge base:
MkDocs starts in a neutral folder with Python's `-P`, and templates of people come in only where `[site] overrides` names them, in a sandbox.
"""

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from importlib.metadata import version
from pathlib import Path

from kb import KbError, needing, trail
from kb.site.links import web_address
from kb.site.survey import Survey, plural, type_place
from kb.site.targets import short_names
from kb.site.templating import Frame, plain_title, template
from kb.store import Kept, Layout, bytes_of, code_state, digest_of

SHELLS = ("material", "plain")
_HERE = Path(__file__).parent
TEMPLATES = _HERE / "templates" / "material"
_SLOT = re.compile(r"@@kb:(\w+)@@")
_INLINE_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)
# What the shell of Material ships and no page of ours uses.
_UNUSED = (
    "assets/javascripts/lunr",
    "assets/javascripts/workers",
    ".map",
    "sitemap.xml",
    "sitemap.xml.gz",
    "assets/_mkdocstrings.css",
)
_MOST_TARGETS = 24


# A group of the navigation: its title, and its entries as title and place.
Group = tuple[str, tuple[tuple[str, str], ...]]


@dataclass(frozen=True)
class Shell:
    """HTML with slots for each depth of folder, that of the page for missing addresses, and the files that it needs."""

    skeletons: tuple[str, ...]
    missing: str
    files: Mapping[str, bytes]
    groups: tuple[Group, ...]
    base: str
    navigations: dict[tuple[str, str], str] = field(default_factory=dict)

    @cached_property
    def digest(self) -> str:
        """Changes with the shell and with the code that fills it: what other code rendered is rendered again."""
        code = code_state(everything=True)
        return digest_of(
            repr((code, self.skeletons, self.missing, self.groups, sorted(self.files)))
        )

    @cached_property
    def pieces(self) -> tuple[list[str], ...]:
        return tuple(_SLOT.split(with_policy(s)) for s in self.skeletons)

    def page(self, frame: Frame) -> bytes:
        """A whole page."""
        pieces = self.pieces[frame.place.count("/")]
        return _filled(pieces, self.slots(frame)).encode("utf-8", "replace")

    def missing_page(self, skeleton: str = "") -> str:
        """What is shown for an address that is none; it may stand at any depth, so its links start at the root of the site."""
        content = f'<h1>Not found</h1><p>No page has this address. <a href="{escape(self.base)}index.html">Home</a></p>'
        frame = Frame("404.html", "Not found", "", "", lambda: (content, ()))
        pieces = _SLOT.split(skeleton or with_policy(self.missing))
        return _filled(pieces, self.slots(frame, self.base))

    def slots(self, frame: Frame, root: str | None = None) -> dict[str, str]:
        """What goes into the slots for one page."""
        root = "../" * frame.place.count("/") if root is None else root
        content, toc = frame.content()
        return {
            "title": escape(frame.title),
            "content": content,
            "nav": self._navigation(root, frame.section),
            "toc": template("toc.html")(toc=toc) if len(toc) > 1 else "",
            "hidetoc": "" if len(toc) > 1 else "hidden",
            "place": escape(frame.place),
        }

    def _navigation(self, root: str, section: str) -> str:
        """The navigation of a page that stands `root` below the site's own; pages of one folder and section share it."""
        key = root, section
        if key not in self.navigations:
            shown = template("nav.html")(groups=self.groups, root=root, section=section)
            self.navigations[key] = shown
        return self.navigations[key]


def _filled(pieces: list[str], slots: Mapping[str, str]) -> str:
    return "".join(slots[p] if n % 2 else p for n, p in enumerate(pieces))


def with_policy(html: str) -> str:
    """A page with its content security policy: the second wall behind escaping. Only scripts of the site itself run, and of those inside the
    page only the shell's own, each named by its hash.
    """
    hashes = sorted(
        {
            base64.b64encode(hashlib.sha256(s.encode()).digest()).decode()
            for s in _INLINE_SCRIPT.findall(html)
        }
    )
    scripts = " ".join(["'self'", *(f"'sha256-{h}'" for h in hashes)])
    policy = (
        f"default-src 'none'; script-src {scripts}; style-src 'self'; img-src 'self' data:; font-src 'self' data:; "
        "connect-src 'self'; manifest-src 'self'; base-uri 'self'; form-action 'none'"
    )
    return html.replace("@@kb:policy@@", policy)


def groups_of(survey: Survey, *, captured: bool, replay: bool) -> tuple[Group, ...]:
    """The navigation: what a loop asks for, the targets, what people wrote."""
    short = short_names(survey.trails)
    targets = [
        (plain_title(short[name] or trail.name_of(name, short)), f"{folder}/index.html")
        for name, folder in survey.target_folders.items()
    ]
    all_targets = "index.html#home" if len(targets) > _MOST_TARGETS else ""
    entries = {
        "The loop": [
            ("Standing", "index.html"),
            ("Side by side", "compare.html" if survey.experiments else ""),
            ("All runs", "runs.html" if survey.experiments else ""),
            ("Why refuted", "refuted.html" if survey.cards else ""),
        ],
        "Targets" if any(survey.trails) else "Runs": [
            *targets[:_MOST_TARGETS],
            ("All targets", all_targets),
        ],
        "Pages": [
            (plain_title(plural(t)), type_place(survey, t))
            for t in survey.by_type
            if t != "experiment"
        ],
        "More": [
            ("Captured sources", "captured/index.html" if captured else ""),
            ("Tags", "by-tag/index.html" if survey.tags else ""),
            ("Graph", "graph.html"),
            ("Replay", "replay.html" if replay else ""),
        ],
    }
    groups = {title: tuple(entry for entry in some if entry[1]) for title, some in entries.items()}
    return tuple((title, some) for title, some in groups.items() if some)


# Skeletons for each depth of folder, the page for missing addresses, files.
_Made = tuple[tuple[str, ...], str, dict[str, bytes]]


def shell_of(layout: Layout, kept: Kept, groups: tuple[Group, ...], *, depth: int) -> Shell:
    """The shell that kb.toml names, for pages down to a depth of folders. Raises KbError where it is not installed or MkDocs fails."""
    url = web_address(layout.config.site_url, "url")
    base = f"/{url.split('/', 3)[3]}/" if url.count("/") > 2 else "/"
    title = plain_title(layout.config.site_name or layout.config.name or "Knowledge base")
    if layout.config.site_shell == "plain":
        shell = template("plain/shell.html")
        shells = tuple(shell(root="../" * n, name=title, url=url) for n in range(depth + 1))
        return Shell(shells, shell(root=base, name=title, url=""), {}, groups, base)
    overrides = overrides_of(layout)
    own = sorted(overrides.rglob("*")) if overrides else []
    texts = [(str(file), bytes_of(file)) for file in own if file.is_file()]
    inputs = versions(), code_state(everything=True), title, url, depth, texts
    shells = kept.of("shell", inputs, _Made, lambda: _material(overrides, title, url, depth))
    return Shell(*shells, groups, base)


def versions() -> str:
    """Versions of what gives the shell. Raises KbError where it is not installed."""
    with needing("site"):
        return " ".join(
            f"{name} {version(name)}"
            for name in ("mkdocs", "mkdocs-material", "jinja2", "markdown-it-py")
        )


def theme_config(theme: str) -> dict[str, object]:
    """The theme as MkDocs takes it; `theme` is the folder with our templates."""
    palette = [
        {
            "media": f"(prefers-color-scheme: {media})",
            "scheme": scheme,
            "primary": "custom",
            "accent": "custom",
            "toggle": toggle,
        }
        for media, scheme, toggle in (
            ("light", "default", {"icon": "material/weather-night", "name": "Dark"}),
            ("dark", "slate", {"icon": "material/weather-sunny", "name": "Light"}),
        )
    ]
    return {
        "name": "material",
        "custom_dir": theme,
        "font": False,
        "language": "en",
        "features": ["toc.follow", "content.code.copy"],
        "icon": {"logo": "material/book-open-variant-outline"},
        "palette": palette,
    }


def _material(overrides: Path | None, title: str, url: str, depth: int) -> _Made:
    with tempfile.TemporaryDirectory(prefix="kb-shell-") as work:
        home = Path(work)
        shutil.copytree(TEMPLATES, home / "theme")
        config: dict[str, object] = {
            "site_name": escape(title),
            "use_directory_urls": False,
            "theme": theme_config("theme"),
            "extra_css": ["kb-assets/kb.css"],
            "extra_javascript": ["kb-assets/kb.js"],
            "extra": {"generator": False, "kb_url": url},
            "plugins": [],
        }
        if overrides:
            shutil.copytree(overrides, home / "theme", dirs_exist_ok=True)
            shutil.copy(_HERE / "sandbox.py", home)
            config["hooks"] = ["sandbox.py"]
        for n in range(depth + 1):
            page = home / "docs" / ("d/" * n) / ("x.md" if n else "index.md")
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text("x\n")
        (home / "mkdocs.yml").write_text(json.dumps(config))
        _run_mkdocs(home)
        read = {
            p.relative_to(home / "out").as_posix(): p.read_bytes()
            for p in (home / "out").rglob("*")
            if p.is_file()
        }
    pages = tuple(
        read["d/" * n + ("x.html" if n else "index.html")].decode() for n in range(depth + 1)
    )
    files = {
        name: data
        for name, data in read.items()
        if name.startswith("assets/") and not any(u in name for u in _UNUSED)
    }
    return pages, read["404.html"].decode(), files


def overrides_of(layout: Layout) -> Path | None:
    """The folder of people's own templates, where kb.toml names one inside the knowledge base."""
    named = layout.config.site_overrides
    if not named:
        return None
    folder = (layout.root / named).resolve()
    if not folder.is_relative_to(layout.root.resolve()) or not folder.is_dir():
        raise KbError(
            f"kb.toml: [site] overrides is '{named}', which is no folder of this knowledge base"
        )
    if any(p.is_symlink() for p in folder.rglob("*")):
        raise KbError(
            f"kb.toml: [site] overrides: '{named}' holds symbolic links; put the files themselves there"
        )
    return folder


def _run_mkdocs(home: Path) -> None:
    """MkDocs in a folder of our own, with nothing of the current one on Python's path, and a fixed date: the same wiki gives the same bytes."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    env |= {
        "SOURCE_DATE_EPOCH": "0",
        "NO_MKDOCS_2_WARNING": "true",
        "DISABLE_MKDOCS_2_WARNING": "true",
    }
    command = [
        sys.executable,
        "-P",
        "-m",
        "mkdocs",
        "build",
        "--quiet",
        "--site-dir",
        str(home / "out"),
    ]
    ran = subprocess.run(
        command, cwd=home, env=env, capture_output=True, text=True, errors="replace", check=False
    )
    if ran.returncode != 0:
        raise KbError(
            f"mkdocs could not make the shell of the site:\n{(ran.stderr or ran.stdout).strip()[-2000:]}"
        )
