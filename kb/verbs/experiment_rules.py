"""kb experiment rules [experiment]: print the rules by which `close` judges, in their order."""

from dataclasses import dataclass

from kb.verbs import Caller, Result


@dataclass(frozen=True, slots=True, kw_only=True)
class AskRules:
    """Nothing to choose."""


@dataclass(frozen=True, slots=True)
class VerdictRules(Result):
    """Name, verdict and condition of each rule."""

    rules: tuple[tuple[str, str, str], ...]

    def to_json(self) -> object:
        return [
            {"name": name, "verdict": verdict, "when": when} for name, verdict, when in self.rules
        ]

    def to_text(self) -> str:
        return "\n".join(f"{name:<22} {verdict:<13} {when}" for name, verdict, when in self.rules)


def run(request: AskRules, caller: Caller) -> VerdictRules:
    from kb.run.rules import RULES

    return VerdictRules(tuple((r.name, r.verdict, r.when) for r in RULES))
