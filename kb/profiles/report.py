"""A profile as text: a page's Profile section, the query. Computes nothing; names are quoted, never markup."""

import re

from kb.profiles.table import Profile, clean

NAME_AT_MOST = 80
# Buckets below this are in the table but say nothing about what to look for.
QUERY_FROM = 0.01
OPS_SHOWN = 10


def _code(text: str) -> str:
    """Text of a profile as a code span of a table cell: no back-ticks, pipes escaped."""
    return (
        "`"
        + clean(text, limit=NAME_AT_MOST)
        .replace("`", "'")
        .replace("|", "\\|")
        .replace("<!--", "<!-")
        + "`"
    )


def _plain(text: str, *, limit: int = 400) -> str:
    """Text of a profile outside a code span (a bucket named by a file, a note): no character of a table, of HTML or of code."""
    return clean(text, limit=limit).translate(str.maketrans("|<>`", "/()'"))


def _amount(value: float, unit: str) -> str:
    if unit == "ms":
        return (
            f"{value / 1000:.3f} s"
            if value >= 10_000
            else f"{value:.3f} ms"
            if value >= 0.1
            else f"{value * 1000:.3f} µs"
        )
    return f"{value:,.1f} %" if unit == "%" else f"{value:,.0f} {_plain(unit, limit=30)}"


def _percent(share: float) -> str:
    return f"{share * 100:.1f}%"


def _bucket_rows(profile: Profile) -> list[tuple[str, ...]]:
    overlapped = any(
        b.exposed is not None and b.self_time > 0 and b.exposed < 0.999 * b.self_time
        for b in profile.buckets
    )
    spent = "% of step" if profile.steps else "% of time"
    rows = [("Bucket", spent, "Top op", "Self time", *["Exposed"] * overlapped)]
    for bucket in profile.buckets:
        top = _code(bucket.top_ops[0]) if bucket.top_ops and bucket.top_ops[0] != "(gap)" else "—"
        exposed = _amount(bucket.exposed, profile.unit) if bucket.exposed is not None else "—"
        times = _amount(bucket.self_time, profile.unit), *[exposed] * overlapped
        rows.append((_plain(bucket.name, limit=40), _percent(bucket.share), top, *times))
    return rows


def rows(profile: Profile) -> str:
    """The source and the bucket table, a row a line, its cells between dots."""
    cells = ((cell.strip("`") for cell in row) for row in _bucket_rows(profile))
    return "\n".join([_facts(profile)[0].replace("`", ""), *map(" · ".join, cells)])


def _bucket_table(profile: Profile) -> list[str]:
    head, *body = (f"| {' | '.join(cells)} |" for cells in _bucket_rows(profile))
    return [head, "|" + "---|" * (head.count("|") - 1), *body]


def _op_table(profile: Profile) -> list[str]:
    rows = (
        (
            _code(op.name),
            _plain(op.bucket, limit=40),
            _percent(op.share),
            _amount(op.self_time, profile.unit),
            str(op.count),
            _plain("; ".join(f"{f.name} {f.value}" for f in op.facts)),
        )
        for op in profile.ops[:OPS_SHOWN]
    )
    head = ("| Op | Bucket | % | Self time | Count | Facts |", "|---|---|---|---|---|---|")
    return [*head, *(f"| {' | '.join(cells)} |" for cells in rows)]


def _facts(profile: Profile) -> list[str]:
    where = {"device": "device time", "host": "host time (no device was traced)"}[profile.scope]
    parts = [f"{_amount(profile.total, profile.unit)} of {where}"]
    if profile.tracks > 1:
        parts.append(f"{profile.tracks} devices or threads added up")
    parts.append(
        f"idle {_percent(profile.idle_share)}" if profile.idle_share is not None else "idle unknown"
    )
    if profile.steps:
        parts.append(
            f"{profile.steps} steps"
            + (f" of {profile.step_time:.3f} ms" if profile.step_time is not None else "")
        )
    lines = [f"Source {_code(profile.source)} ({profile.kind}): {', '.join(parts)}."]
    facts = [f"- {_plain(fact.name)}: {_code(fact.value)}" for fact in profile.facts]
    return lines + ([""] + facts if facts else [])


def to_markdown(profile: Profile) -> str:
    """A `## Profile` section, ready to be pasted into an experiment's page."""
    lines = [
        "## Profile",
        "",
        *_facts(profile),
        "",
        *_bucket_table(profile),
        "",
        "Top operations:",
        "",
        *_op_table(profile),
    ]
    if profile.warnings:
        lines += ["", *(f"> Note: {_plain(w)}" for w in profile.warnings)]
    return "\n".join(lines) + "\n"


def _words(name: str) -> str:
    """An operation's name as a person would ask for it: without arguments, instance number and file."""
    plain = re.sub(r"\(anonymous namespace\)|\(void\)|\.<\w+>", "", name)
    plain = plain.partition("(")[0].partition("<")[0].replace("void ", "").strip()
    return re.sub(r"(?:\.\d+)+$", "", plain.rsplit("::", 1)[-1]) or clean(name, limit=NAME_AT_MOST)


def query(profile: Profile) -> str:
    """The profile's signature: a line a bucket with its share, the tool's own categories and the names of its top operations."""
    lines = []
    for bucket in profile.buckets:
        if bucket.share < QUERY_FROM:
            continue
        names = list(
            dict.fromkeys(
                [*bucket.categories, *(_words(n) for n in bucket.top_ops if not n.startswith("("))]
            )
        )
        names = [clean(n, limit=NAME_AT_MOST) for n in names if n.lower() != bucket.name]
        lines.append(
            f"{bucket.name} {bucket.share * 100:.0f}%" + (f": {', '.join(names)}" if names else "")
        )
    return "\n".join(lines)
