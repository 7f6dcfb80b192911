"""An imported run as an experiment page. What the loop wrote is quoted and escaped: it cannot be markup, a link, a heading or a block."""

import json
import re

from kb.formats.judging import Judged
from kb.page.seal import FIELD
from kb.run.direction import word_set
from kb.run.quantity import number_text
from kb.run.record import Metric, Run
from kb.schema import Verdict
from kb.store import digest_of
from kb.text.printing import one_line
from kb.text.words import name_words

_SPECIAL = re.compile(
    r"([\\`*\[\]<])|(?<![^\W_])(_)|(_)(?![^\W_])|(&)(?=#?\w+;)|(\{)(?=:)|(~)(?=~)"
)
# Words at which a file name says a verdict or a baseline; a slug made of a description must not say one by accident.
_VERDICT_WORDS = word_set(
    "accepted rejected potential invalid refuted supported crash crashed failed discard discarded kept keep "
    "inconclusive parked baseline"
)


def as_text(text: str) -> str:
    """Untrusted text as markdown that renders as itself."""
    escaped = _SPECIAL.sub(r"\\\g<0>", one_line(text))
    return re.sub(r"^(?:(\d{1,9})(?=[.)](?:\s|$))|(?=[#+\-=|:!>]))", r"\1\\", escaped)


def quoted(text: str) -> list[str]:
    """Untrusted text as a quotation, one paragraph a line."""
    paragraphs = [as_text(p) for p in re.split(r"\n\s*\n", text)]
    lines: list[str] = []
    for paragraph in (p for p in paragraphs if p):
        lines += [">", f"> {paragraph}"] if lines else [f"> {paragraph}"]
    return lines


def title_of(run: Run) -> str:
    """What was tried, in the loop's words, cut to a line."""
    text = (
        one_line(run.description)
        or one_line(run.hypothesis)
        or f"Run {one_line(run.label) or run.origin.line}"
    )
    if len(text) > 100:
        text = text[:100].rsplit(" ", 1)[0] + " …"
    return text


def slug_of(run: Run) -> str:
    """Words of the title for a file name; words of a verdict only where the run has it."""
    words = name_words(title_of(run))
    if run.verdict != Verdict.BASELINE:
        words = [w for w in words if w not in _VERDICT_WORDS]
    slug = ""
    for word in words:
        if len(slug) + len(word) > 48:
            break
        slug = f"{slug}-{word}" if slug else word
    return slug or "run"


def page_of(judged: Judged, *, record: str, parent: str, date: str) -> bytes:
    """The page of one run: `record` is where its full record stands, `parent` the path of the page it started from."""
    run = judged.run
    front = _front(run, record=record, parent=parent, date=date)
    body = "\n".join([f"# {as_text(title_of(run))}", "", *_body(judged)]).rstrip("\n") + "\n"
    # The seal of a page without managed blocks and notes, which this one is; `seal.digest_of_filed` would parse each of thousands to see that.
    head, tail = "\n".join(["---", *front]) + "\n", f"---\n\n{body}"
    seal = digest_of((head + "---\n").encode("utf-8") + f"\n{body}".encode().rstrip())
    return f"{head}{FIELD}: {seal}\n{tail}".encode()


def _front(run: Run, *, record: str, parent: str, date: str) -> list[str]:
    title = title_of(run)
    metrics = {
        one_line(m.name): _filled(
            {
                "value": m.value,
                "unit": one_line(m.unit),
                "direction": m.direction,
                "stddev": m.stddev,
                "n": m.n,
            }
        )
        for m in run.metrics
        if m.value is not None
    }
    levers = [one_line(f"{x.name}={x.value}" if x.value else x.name)[:200] for x in run.levers]
    fields = {
        "title": title,
        "type": "experiment",
        "target": run.target,
        "variant": one_line(run.variant),
        "hypothesis": one_line(run.hypothesis)[:300] or title,
        "levers": levers,
        "parent": parent,
        "verdict": str(run.verdict),
        "decision": run.decision,
        "status": "filed",
        "metrics": metrics,
        "primary": one_line(run.primary),
        "segment": run.segment or "",
        "loop": _filled(
            {"format": run.format, "run": one_line(run.label), "status": one_line(run.status)}
        ),
        "origin": {
            "file": one_line(run.origin.file),
            "line": run.origin.line,
            "digest": run.origin.digest,
        },
        "record": record,
        "imported": True,
    }
    plain = [
        f"{k}: {json.dumps(v, ensure_ascii=False)}"
        for k, v in fields.items()
        if v not in ("", [], {})
    ]
    return [*plain, f"created: {date}", f"updated: {date}"]


def _filled(values: dict[str, object]) -> dict[str, object]:
    return {k: v for k, v in values.items() if v not in ("", None)}


def _body(judged: Judged) -> list[str]:
    run = judged.run
    parts = {"Hypothesis": run.hypothesis, "Change": run.description}
    parts |= {"Mechanism": run.mechanism, "Predicted signal": run.predicted_signal}
    tested = [
        x
        for label, text in parts.items()
        if text
        for x in (f"**{label}** (quoted):", "", *quoted(text), "")
    ]
    if run.falsification:
        limit = number_text(run.falsification.threshold, digits=12)
        words = (
            f"{as_text(run.falsification.metric)} {as_text(run.falsification.comparison)} {limit}"
        )
        tested += [f"**Falsification criterion**: {words}", ""]
    setup = [f"- {as_text(x.name)}: {as_text(x.value) or 'moved'}" for x in run.levers]
    also = {"Code": run.code, "Run": run.label, "Models": ", ".join(run.models)}
    setup += [f"- {name}: {as_text(value)}" for name, value in also.items() if value]
    reason = ["The loop's reason (quoted):", "", *quoted(run.reason)] if run.reason else []
    next_step = [f"- {as_text(run.next_step)}"] if run.next_step else []
    where = f"line {run.origin.line} of " if run.origin.line else ""
    file = one_line(run.origin.file).replace("`", "")
    measured = "kb measured and checked none of it; quotations are the loop's own words."
    sections = {
        "Setup": setup,
        "Results": _results(run),
        "Verdict": [as_text(judged.why), *([""] if reason else []), *reason] if run.verdict else [],
        "Notes": reason[2:] if not run.verdict else [],
        "Next hypotheses": next_step,
        "Also in the log": [
            f"- {as_text(name)}: {as_text(value[:600])}" for name, value in run.notes[:40]
        ],
        "Sources": [f"Imported from {where}`{file}` ({run.format}). {measured}"],
    }
    below = [
        x for title, lines in sections.items() if lines for x in (f"## {title}", "", *lines, "")
    ]
    return ["## Hypothesis under test", "", *tested, *below]


def _results(run: Run) -> list[str]:
    checks = [f"- Check {as_text(c.name)}: {as_text(c.outcome)}" for c in run.checks]
    rows = [f"| {_cell(m.name)} | {_shown(m)} |" for m in run.metrics]
    table = (
        ["| metric | value |", "|---|---|", *rows] if rows else ["The log gives no measurement."]
    )
    return [*table, "", *checks] if checks else table


def _cell(text: str) -> str:
    return as_text(text).replace("|", "\\|")


def _shown(metric: Metric) -> str:
    if metric.value is None:
        return f"not measured (the log shows {_cell(metric.raw) or 'nothing'})"
    spread = f" ± {number_text(metric.stddev)}" if metric.stddev is not None else ""
    return f"{metric.value!r}{spread} {_cell(metric.unit)}".rstrip()
