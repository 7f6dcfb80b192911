"""The door of MkDocs: `plugins: [kb]` in mkdocs.yml, and `mkdocs build` and `mkdocs serve` show the knowledge base. Renders nothing: it hands
over the pages that kb made.
"""

from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.plugins import BasePlugin
from mkdocs.structure.files import File, Files

from kb import KbError, store


class KbPlugin(BasePlugin):
    """Takes the folder of mkdocs.yml, or one above it, as the knowledge base; the theme must be Material."""

    def on_startup(self, *, command: str, dirty: bool) -> None:
        self.is_served = command == "serve"

    def on_config(self, config):
        from kb.site.shell import TEMPLATES, theme_config

        if config.theme.name != "material":
            raise PluginError(
                "the plugin kb takes the theme material: write `theme: {name: material}` into mkdocs.yml"
            )
        stated = next(
            (c["theme"] for c in config.user_configs if isinstance(c.get("theme"), dict)), {}
        )
        for key, value in theme_config("").items():
            if key not in (*stated, "name", "custom_dir"):
                config.theme[key] = value
        config.theme.dirs.insert(1 if config.theme.custom_dir else 0, str(TEMPLATES))
        config.use_directory_urls = False
        config.extra_css = ["kb-assets/kb.css", *config.extra_css]
        config.extra_javascript = ["kb-assets/kb.js", *config.extra_javascript]
        config.extra = {
            "generator": False,
            "kb_url": (config.site_url or "").rstrip("/"),
            **config.extra,
        }
        return config

    def on_files(self, files: Files, *, config) -> Files:
        from kb.build import build
        from kb.site import rendered_site
        from kb.verbs.site_build import slice_now

        try:
            layout = store.layout_at(Path(config.config_file_path).parent)
            build(layout)
            db = store.state(layout)
            self.shown = rendered_site(layout, db, handed=slice_now(layout, db))
        except KbError as error:
            raise PluginError(str(error)) from error
        self.frames = {f.place: f for f in self.shown.frames}
        pages = [
            File.generated(config, f"{place.removesuffix('.html')}.md", content="")
            for place in self.frames
        ]
        others = [
            File.generated(config, name, content=data())
            for name, (_, data) in self.shown.files.items()
        ]
        db.close()
        return Files([*pages, *others])

    def on_page_context(self, context, *, page, config, nav):
        context["kb"] = self.shown.shell.slots(self.frames[page.file.dest_uri])
        return context

    def on_post_page(self, output: str, *, page, config) -> str:
        return self._guarded(output)

    def on_post_template(self, output: str, *, template_name: str, config) -> str:
        return (
            self.shown.shell.missing_page(self._guarded(output))
            if template_name == "404.html"
            else output
        )

    def on_serve(self, server, *, config, builder):
        server.watch(str(Path(config.config_file_path).parent / "kb.toml"))
        return server

    def _guarded(self, output: str) -> str:
        """A page with its content security policy; while it is served, MkDocs's own inline script must run."""
        from kb.site.shell import with_policy

        return output.replace("@@kb:policy@@", "") if self.is_served else with_policy(output)
