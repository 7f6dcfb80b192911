"""Statuses as loops write them, in the languages that logs are kept in: what was done with a run. Refuses to call an unknown word a win."""

import re
from collections.abc import Iterable
from functools import lru_cache

from kb import languages
from kb.run.direction import word_set
from kb.run.record import Outcome
from kb.schema import ADOPTED, UNDONE
from kb.text import stem

_OUTCOMES = {
    Outcome.KEPT: f"""{" ".join(ADOPTED)} keep keeps kept keeper keeping committed committing accept accepted adopt adopting merge merging
        promote promoted retain retained ship shipping land landing banked win won stays stayed staying""",
    Outcome.DISCARDED: f"""{" ".join(UNDONE)} discard discarded discarding revert reverted reverting reject rejected
        rejecting kill killing drop dropping rollback rolled abandon abandoned abandoning threw_out threw_away undo undone undoing closed
        nope 丢弃 舍弃""",
    Outcome.CRASHED: """crash crashed crashes oom out_of_memory fail failed fails failure timeout timed_out no_json error errored
        launch_error runtime_error build_error link_error will_not_build will_not_compile will_not_run
        exception segfault segfaults segfaulted compile_error build_failed died diverged broken broke bricked incident aborted
        abort hang hangs hung deadlock deadlocks nan panic panicked panics 失败 失敗 超时""",
    Outcome.CHECKS_FAILED: "incorrect wrong falsch faux",
}
# How other languages say it; in a log a run that is said to have failed did not run.
_VERDICTS = {Outcome.KEPT: "supported", Outcome.CRASHED: "crash", Outcome.DISCARDED: "refuted"}
_STEMS = [
    (stem.replace("-", "_"), o)
    for o, name in _VERDICTS.items()
    for stem in languages.VERDICTS[name].split()
]
_OUTCOME_OF = {word: outcome for outcome, words in _OUTCOMES.items() for word in words.split()}
_BEGINNINGS = [(w, o) for w, o in _OUTCOME_OF.items() if not w.isascii()] + _STEMS
MARKS = {
    **dict.fromkeys("💥🔥💀☠", Outcome.CRASHED),
    **dict.fromkeys("✅✔✓👍", Outcome.KEPT),
    **dict.fromkeys("❌✗✘✖↩👎", Outcome.DISCARDED),
}
# Signs that a column of verdicts may hold instead of words.
SIGNS = {
    **dict.fromkeys(("+", "++"), Outcome.KEPT),
    **dict.fromkeys(("-", "--", "−", "x", "X"), Outcome.DISCARDED),
    **dict.fromkeys(("!", "!!"), Outcome.CRASHED),
}
# Statuses that are known and say neither; unknown words are OTHER too but mark no status column.
_SAYS_NEITHER = word_set("""ok pass passed success succeeded done complete completed finished
    parked park inconclusive invalid tentative partial wip info usable theoretical blocked deferred
    pending running queued skip skipped neutral tie flat support supported repair investigated refuted
    provisional open filed pruned noop no_op start warmup tbd duplicate improved regressed confirmed
    regression worse mixed marginal unchanged same in_progress started measured within_noise undecided unclear
    ausgangswert bestätigt""")
_BASES = word_set(f"baseline base reference ref referenz 基准 {languages.VERDICTS['baseline']}")
# What the machines did, not the change: such a run tells nothing of it.
_STOPPED = word_set("infra infrastructure preempted cancelled canceled interrupted")
_STANDS = _BASES | _STOPPED | word_set("rate network ssh quota")
# What only compares a run with those before; the verdict of a loop that says no other.
COMPARED = {
    **dict.fromkeys(
        word_set("improved improvement better confirmed supported validated"), Outcome.KEPT
    ),
    **dict.fromkeys(word_set("regressed regression worse refuted falsified"), Outcome.DISCARDED),
}
# What is worse in a run may be called by these, too, so that a reason that begins with one does not say that it broke.
_SOFT = word_set("fail failed fails failure error errored broke broken")
# Words that say what was done where they stand alone: `out of memory` says another thing.
_ALONE = {
    "out": Outcome.DISCARDED,
    **dict.fromkeys(
        word_set("best new_best best_so_far record new_record what_worked what_works"), Outcome.KEPT
    ),
}
_DENIALS = {*languages.DENIALS, "no", "un"}
# A failure that names what failed: a gate, or else the run itself.
_GATES = word_set("""check checks test tests correctness parity accuracy validation verification verify
    numerics gate guard quality lint typecheck""")
_FAILURES = word_set("crash crashed oom fail fails failed failure error mismatch timeout")
# Words that say what was done wherever they stand in a name: `screen_discard`, `reverted_worse`.
_DONE = word_set("discard discarded revert reverted reject rejected keep kept crashed oom")
# What has not begun: a queue of jobs is no log.
NOT_BEGUN = word_set("""queued pending todo open planned ready waiting submitted scheduled next idea backlog
    待做 计划 未开始""") | {*languages.RUNNING} - {"läuft", "laufend", "进行中", "進行中", "идёт"}
# What is longer is a sentence, of which the beginning says what was done.
_LONGEST_STATUS = 200
_LONGEST_NAME = 40
# Each part may say what was done: `no effect, rolled back`, `kept → new reference`.
_PARTS = re.compile(r"[(\[,;:.!，；（。]|\s[-–—/]\s|→|=>|->")
# An enumeration as its language prints it: `SubmissionStatus.COMPLETE`.
_ENUM = re.compile(r"^[A-Za-z]\w*\.(?=[A-Z][A-Z_]+$)")


@lru_cache(4096)
def status_words(raw: str) -> str:
    """A status without case, emphasis and separators: `**Checks-Failed**` gives `checks_failed`."""
    plain = _ENUM.sub("", raw.strip()).lower().replace("’", "'").replace("won't", "will not")
    return re.sub(r"[\W_]+", "_", plain).strip("_").removeprefix("已")


@lru_cache(4096)
def outcome_of(raw: str) -> Outcome:
    """Outcome of a status as written; `keep (new best)`, `discard - OOM`, `no effect, rolled back` by the first part that says one."""
    raw = raw[:_LONGEST_STATUS].strip()
    words = status_words(raw)
    first = words.split("_")[:5]
    if words not in _OUTCOME_OF and _FAILURES.intersection(first) and _GATES.intersection(first):
        return Outcome.CHECKS_FAILED
    named = "_" in raw and " " not in raw
    for at, part in enumerate([words, *map(status_words, _PARTS.split(raw))]):
        head = part.partition("_")[0]
        if head in _STANDS or part in _STANDS:
            return Outcome.OTHER
        # Further parts explain; of them only what is a status alone, or says what was done, is one.
        outcome = (
            _outcome_of_part(part.replace("_it_", "_"), named=named)  # `backed it out`
            if at < 2 or head in _DONE
            else _OUTCOME_OF.get(part)
        )
        # `❌ Failed — plateaued`: it was lost; what broke says so behind it.
        lost = head in _SOFT and MARKS.get(raw[:1]) is Outcome.DISCARDED
        if not lost and (outcome or at and re.fullmatch(r"\w{4,}(?:error|exception)", head)):
            return outcome or Outcome.CRASHED
    return next(
        (o for mark, o in MARKS.items() if raw.startswith(mark) or mark == "💥" and mark in raw),
        Outcome.OTHER,
    )


def beside_denial(words: Iterable[str]) -> dict[str, Outcome]:
    """Statuses of one word that others deny: where runs `did_not_work`, those that `worked` were kept."""
    parts = [word.split("_") for word in words]
    # `didn't` is written in two; a no may be the answer, and what stands behind it why.
    denying = {*languages.DENIALS, "t"} - {"no", *languages.ANSWERS["no"].split()}
    denied = (p for p in parts if len(p) > 1 and p[-2] in denying)
    stems = {stem(p[-1]) for p in denied}
    return {p[0]: Outcome.KEPT for p in parts if len(p) == 1 and stem(p[0]) in stems}


def fault_of(reason: str) -> Outcome | None:
    """What a reason in a few words says of a run that did not come to its end: it crashed, or the machines stopped it; None where it says neither."""
    words = status_words(reason[:_LONGEST_STATUS]).split("_")
    if len(words) < 6 and _STOPPED.intersection((words[0], words[-1])):
        return Outcome.OTHER
    broke = words[0] not in _SOFT and outcome_of(reason) is Outcome.CRASHED
    return Outcome.CRASHED if broke else None


def _outcome_of_part(words: str, *, named: bool) -> Outcome | None:
    if words in _ALONE:
        return _ALONE[words]
    if words in _OUTCOME_OF:
        return _OUTCOME_OF[words]
    first, *rest = words.removeprefix("what_").split("_")
    if (
        first in ("did", "does", "do")
        and rest[:1] == ["not"]
        or first in ("didn", "doesn", "didnt")
    ):
        return Outcome.DISCARDED
    if first in _DENIALS:
        denied = rest and _outcome_of_part("_".join(rest), named=named) is Outcome.KEPT
        return Outcome.DISCARDED if denied else None
    # `drop_path` is a setting; `drop it` and `kept_best` say what was done.
    if first in _OUTCOME_OF and (first in _DONE or not named):
        return _OUTCOME_OF[first]
    if named and rest and len(words) <= _LONGEST_NAME and rest[-1] in _DONE | _FAILURES:
        return _OUTCOME_OF.get(rest[-1], Outcome.CRASHED)
    # A word that bends, or a script that sets no blanks: what a part begins with.
    begun = (o for w, o in _BEGINNINGS if first.startswith(w))
    return None if first in _SAYS_NEITHER else next(begun, None)


def is_status(raw: str) -> bool:
    """Whether a cell is a word of the status vocabulary, decided or not."""
    if len(raw) > _LONGEST_NAME:
        return False
    begun = status_words(_PARTS.split(_ENUM.sub("", raw.strip()), maxsplit=1)[0])
    known = (
        begun in _SAYS_NEITHER | NOT_BEGUN
        or any(begun.startswith(b) for b in _BASES if not b.isascii())
        or begun.split("_")[0] in _STANDS
    )
    return known or outcome_of(raw) is not Outcome.OTHER
