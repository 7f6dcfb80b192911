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


def label_of(path: str, number: int, target: str, *, one_target: bool) -> str:
    """What names an experiment in a line: its label, with its target where there are several; its file where it has no number."""
    label = (
        f"v{number:03d}"
        if f"-v{number:03d}-" in path
        else path.rpartition("/")[2].removesuffix(".md")
    )
    return label if one_target or not target else f"{target}/{label}"


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
