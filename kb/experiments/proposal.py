"""What is to be tried, as its author states it. Knows neither pages nor doors."""

from dataclasses import dataclass

LABELS = {
    "hypothesis": "Hypothesis",
    "mechanism": "Mechanism",
    "predicted": "Predicted signal",
    "falsification": "Falsification criterion",
    "differs": "What differs",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentProposal:
    """What is to be tried. `falsification` is text that parses; `parent` a page, its label, or a git reference; `differs` the answer to a warning."""

    target: str = ""
    title: str = ""
    variant: str = ""
    lever: tuple[str, ...] = ()
    hypothesis: str = ""
    mechanism: str = ""
    predicted: str = ""
    falsification: str = ""
    parent: str = ""
    differs: str = ""
    expect: tuple[str, ...] = ()
    forbid: tuple[str, ...] = ()
    predict: tuple[str, ...] = ()
    baseline: bool = False

    @property
    def text(self) -> str:
        """The proposal as `kb check` reads it."""
        named = (
            f"{label}: {getattr(self, field)}"
            for field, label in LABELS.items()
            if getattr(self, field)
        )
        levers = f"Levers: {', '.join(self.lever)}" if self.lever else ""
        variant = f"Variant: {self.variant}" if self.variant else ""
        return "\n\n".join(part for part in (self.title, levers, variant, *named) if part)
