"""A hook of MkDocs: people's own templates are rendered in Jinja's sandbox, because they may come with a knowledge base of others."""

from jinja2.sandbox import ImmutableSandboxedEnvironment


class ShellSandbox(ImmutableSandboxedEnvironment):
    """Refuses private attributes, as Jinja's own does, and the methods of MkDocs, which write files."""

    def is_safe_callable(self, obj: object) -> bool:
        return super().is_safe_callable(obj) and not str(getattr(obj, "__module__", "")).startswith(
            "mkdocs."
        )


def on_env(env, config, files):
    """The environment that MkDocs renders with."""
    safe = ShellSandbox(loader=env.loader, extensions=list(env.extensions), auto_reload=False)
    safe.filters.update(env.filters)
    safe.tests.update(env.tests)
    safe.globals.update(env.globals)
    return safe
