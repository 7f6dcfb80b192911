"""What the verbs on experiments share: pages by label, targets, what may still be done before a page is closed."""

from typing import TYPE_CHECKING

from kb import store
from kb.verbs import Caller

if TYPE_CHECKING:
    from kb.experiments.stub import Stub
    from kb.experiments.targets import Target
    from kb.trail import Experiment

PAGE_HELP = "path, file name or label (v012) of the experiment"
TARGET_HELP = "the target whose label is meant"

# Rules that speak for want of repeats or of a quiet machine.
_NOISE = ("noise-wide", "noise-unknown", "falsified-in-doubt")
# Rules that speak for want of evidence, and how to come by it.
_WANTING = {
    "no-profile": (
        "before it is closed, name a profile command (`profile:` of the target page, or --profile; a file in $KB_OUT with "
        "'profile' in its name counts as well) and `kb experiment run {path} --again`"
    ),
    "no-audit": "before it is closed, `kb experiment audit {path}` looks for the mechanism (--expect PATTERN where the page names none)",
}


def hint_of(rule: str, path: str) -> str:
    """What may still be done about a ruling before the page is closed; empty where measuring more of the same tells nothing new."""
    if rule not in _NOISE:
        return _WANTING.get(rule, "").format(path=path)
    return f"before it is closed, `kb experiment run {path} --more 5` adds repeats of both sides (better on a quiet host)"


def page_of(layout: store.Layout, caller: Caller, typed: str, *, target: str) -> str:
    """Path of the experiment that a user names by path, file name or label."""
    from kb.experiments.stub import located

    return located(layout, caller.page(layout, typed), target=target)


def target_of(layout: store.Layout, path: str) -> "tuple[Stub, Target]":
    from kb.experiments.stub import stub_at
    from kb.experiments.targets import target_named

    stub = stub_at(layout, path)
    return stub, target_named(layout, stub.facts.target)


def trail_of(layout: store.Layout, target: str, *, before=None) -> "tuple[Experiment, ...]":
    """Experiments of a target as built, in trail order."""
    from kb import trail

    db = store.state(layout)
    try:
        return trail.experiments(db, target=target, before=before)
    finally:
        db.close()
