"""Templates to HTML: the one Jinja2 environment, with what templates may ask for. Refuses unescaped text: autoescape is always on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from kb.site.body import WEB_ADDRESS
from kb.site.links import url_between, web_address
from kb.site.raw_html import anchor_of
from kb.site.survey import Survey, plural, type_place
from kb.text import command_of, cut, one_line, printable

# The level, anchor and escaped text of each heading that a table of contents lists.
Toc = tuple[tuple[int, str, str], ...]


@dataclass(frozen=True, slots=True)
class Frame:
    """A page of the site without its shell. `content` gives its HTML and its table of contents when they are asked for; `key` changes with
    all that it is made from; `section` is the entry of the navigation that it belongs to.
    """

    place: str
    title: str
    key: str
    section: str
    content: Callable[[], tuple[str, Toc]]


def sheet(
    survey: Survey,
    place: str,
    title: str,
    template: str,
    shows: Callable[[], Mapping[str, object]],
    *,
    key: str = "",
) -> Frame:
    """A page that no one wrote, at its place, from the template of that name and what it shows; made once, however often it is asked for."""
    folder = place.rpartition("/")[0]
    section = place if folder in ("", "by-type") else f"{folder}/index.html"

    @cache
    def content() -> tuple[str, Toc]:
        return rendered(survey, place, template, {"title": title, **shows()}), ()

    return Frame(place, plain_title(title), key, section, content)


def rendered(survey: Survey, place: str, template: str, shows: Mapping[str, object]) -> str:
    """A template as the content of the page at `place`."""
    return _environment().get_template(template).render(site=Window(survey, place), **shows)


@dataclass(frozen=True, slots=True)
class Window:
    """What a template sees of the site from the place of its page."""

    survey: Survey
    place: str

    def to(self, path: str, anchor: str = "") -> str:
        """URL of a wiki page, at an anchor if it has that; empty for one that is not part of the site."""
        if path not in self.survey.places:
            return ""
        page = self.survey.pages[path]
        known = anchor and not page.skimmed and anchor in page.anchors
        return url_between(self.place, self.survey.places[path], anchor if known else "")

    def url(self, place: str, anchor: str = "") -> str:
        return url_between(self.place, place, anchor)

    def title(self, path: str) -> str:
        return self.survey.pages[path].title if path in self.survey.pages else path

    def tag(self, tag: str) -> str:
        return url_between(self.place, *self.survey.tag_places[tag])

    def type(self, name: str) -> str:
        return url_between(self.place, type_place(self.survey, name))

    def source(self, path: str) -> str:
        """Address of a page's file, where kb.toml names one."""
        base = web_address(self.survey.layout.config.site_repository, "repository")
        return f"{base}/{path}" if base else ""

    def folder(self, target: str) -> str:
        return self.survey.target_folders.get(target, "")


@cache
def _environment() -> Environment:
    loader = PackageLoader("kb.site", "templates")
    env = Environment(
        loader=loader,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        auto_reload=False,
        finalize=_steerless,
    )
    env.filters |= {"clipped": cut, "anchor": anchor_of, "plural": plural, "safe_html": Markup}
    env.filters |= {
        "breakable": breakable,
        "command": command_of,
        "is_address": WEB_ADDRESS.fullmatch,
    }
    return env


def _steerless(value: object) -> object:
    """A value without what commands or turns the text beside it; what is HTML already stands by itself."""
    is_plain = not isinstance(value, str) or isinstance(value, Markup) or value.isascii()
    return value if is_plain else printable(value)


def template(name: str) -> "partial[str]":
    """A template of the package by name, to be filled with keywords."""
    return partial(_environment().get_template(name).render)


def breakable(text: str) -> Markup:
    """A name that may break behind its signs and not within a word."""
    return Markup("").join(Markup("{}<wbr>").format(c) if c in "/_" else c for c in text)


def plain_title(text: str) -> str:
    """A title on one line without signs that steer the text around it, cut where it would break a layout."""
    return cut(one_line(text), 200) or "untitled"
