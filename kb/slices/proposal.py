"""What a proposal or a stub says of itself: claim, mechanism, predicted signal, falsification, setup. Refuses to complete what it leaves out."""

from kb import trail
from kb.page import read
from kb.slices.bringing import Bringing

# A proposal has no page yet; what is told of it stands under this name.
NAME = "proposal"


def facts_of(text: str) -> trail.Facts | None:
    """Facts of a proposal's text; None where there is none."""
    return trail.read_facts(read(f"{NAME}.md", text.encode()), text) if text.strip() else None


def bring_said(bring: Bringing, text: str, *labels: str) -> None:
    """Bring some of the labels of a proposal: `hypothesis`, `mechanism`, `predicted_signal`, `falsification`, `setup`."""
    facts = facts_of(text)
    said = {label: getattr(facts, label) for label in labels} if facts else {}
    for label, words in said.items():
        if words:
            bring.words("state", NAME, "", why=label.replace("_", " "), text=" ".join(words.split())[:600])
