"""The MkDocs side: its configuration, and the one run of it. Refuses plugins and hooks of our own, so that another renderer can take over."""

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from kb import KbError
from kb.site.pages import plain_title
from kb.store import Config

# The second wall behind escaping: even markup that slipped through may load nothing from, and say nothing to, another host.
_POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; "
    "connect-src 'self'; worker-src 'self' blob:; manifest-src 'self'; base-uri 'self'; form-action 'none'"
)
_MAIN = f"""{{% extends "base.html" %}}
{{% block site_meta %}}
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="referrer" content="no-referrer">
{{{{ super() }}}}
{{% endblock %}}
"""
_CONFIG = """# Made by `kb site build` from kb.toml and the wiki; edit those, not this. Any renderer that reads mkdocs.yml can build it.
site_name: {name}
{url}docs_dir: docs
site_dir: html
use_directory_urls: false
theme:
  name: material
  custom_dir: overrides
  language: en
  font: false
  icon: {{logo: material/book-open-variant-outline}}
  features: [navigation.tabs, navigation.tabs.sticky, navigation.prune, navigation.top, search.suggest, search.highlight, toc.follow, content.code.copy]
  palette:
    - {{media: "(prefers-color-scheme: light)", scheme: default, primary: custom, accent: custom, toggle: {{icon: material/weather-night, name: Dark}}}}
    - {{media: "(prefers-color-scheme: dark)", scheme: slate, primary: custom, accent: custom, toggle: {{icon: material/weather-sunny, name: Light}}}}
extra_css: [kb-assets/kb.css]
extra_javascript: [kb-assets/kb.js]
extra: {{generator: false}}
plugins:
  - search: {{separator: '[\\s\\-_/.,:=()\\[\\]]+'}}
markdown_extensions:
  - attr_list
  - toc: {{permalink: true, toc_depth: 3}}
validation: {{nav: {{omitted_files: ignore}}, links: {{not_found: warn}}}}
nav: {nav}
"""


def config_text(config: Config, nav: list) -> str:
    """mkdocs.yml of a knowledge base. Raises KbError for a site address that is none."""
    if config.site_url and urlsplit(config.site_url).scheme not in ("http", "https"):
        raise KbError(f"kb.toml: [site] url is '{config.site_url}'; it takes an address that starts with https://")
    name = json.dumps(plain_title(config.site_name or config.name or "Knowledge base"), ensure_ascii=False)
    lines = ",\n  ".join(json.dumps(entry, ensure_ascii=False) for entry in nav)
    url = f"site_url: {json.dumps(config.site_url, ensure_ascii=False)}\n" if config.site_url else ""
    return _CONFIG.format(name=name, url=url, nav=f"[\n  {lines}\n]")


def template() -> str:
    """The one template of ours: the theme's own, with a content security policy."""
    return _MAIN


def versions() -> str:
    """Versions of what builds the site; part of the digest that says whether it must be built again. Raises KbError where it is not installed."""
    if find_spec("mkdocs") is None or find_spec("material") is None:
        raise KbError(
            "the site needs MkDocs with the Material theme; install them with: pip install -e '.[site]' in kb's checkout"
        )
    from importlib.metadata import version

    return " ".join(f"{name} {version(name)}" for name in ("mkdocs", "mkdocs-material", "markdown"))


def run_mkdocs(site: Path, out: Path, *, strict: bool = False) -> Path:
    """Build site/ into a fresh folder beside `out`, and return it. Raises KbError with what MkDocs said if it fails."""
    fresh = out.with_name(f".{out.name}.kb-fresh")
    shutil.rmtree(fresh, ignore_errors=True)
    # A fixed date: the same wiki gives the same bytes on every day.
    env = {**os.environ, "SOURCE_DATE_EPOCH": "0", "NO_MKDOCS_2_WARNING": "true", "DISABLE_MKDOCS_2_WARNING": "true"}
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--quiet",
        "--config-file",
        str(site / "mkdocs.yml"),
        "--site-dir",
        str(fresh.resolve()),
    ]
    ran = subprocess.run(
        [*command, *(["--strict"] if strict else [])], env=env, capture_output=True, text=True, errors="replace", check=False
    )
    if ran.returncode != 0:
        shutil.rmtree(fresh, ignore_errors=True)
        raise KbError(f"mkdocs could not build {site / 'mkdocs.yml'}:\n{(ran.stderr or ran.stdout).strip()[-2000:]}")
    return fresh


def swap(fresh: Path, out: Path) -> None:
    """Put a freshly built folder in the place of `out`, which is whole before and after."""
    old = out.with_name(f".{out.name}.kb-old")
    shutil.rmtree(old, ignore_errors=True)
    try:
        if out.exists():
            os.rename(out, old)
        os.rename(fresh, out)
    except OSError as error:
        raise KbError(f"{out}: cannot put the built site here: {error.strerror or error}; it stands in {fresh}") from error
    shutil.rmtree(old, ignore_errors=True)
