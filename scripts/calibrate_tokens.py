"""Holds the token estimate against a real tokenizer, that of npm's gpt-tokenizer.

    npm install gpt-tokenizer            # once, anywhere
    python scripts/calibrate_tokens.py --node-modules DIR/node_modules BASE [BASE ...]

BASE is a knowledge base; it is built. Prints, for pages of each type, for paths and for whole slices, the estimate over the real count of
o200k_base and cl100k_base. The estimate is good where no ratio of slices is below 0.95. No part of kb needs this to run.
"""

import argparse
import json
import random
import subprocess
from collections import defaultdict
from pathlib import Path

from kb import store
from kb.build import build
from kb.slices import Loader, Request, tokens_of
from kb.slices.slice import to_markdown
from kb.trail import targets

COUNT = """
const fs = require('fs'); const texts = JSON.parse(fs.readFileSync(0));
const found = {};
for (const name of ['o200k_base', 'cl100k_base']) {
  const { encode } = require('gpt-tokenizer/encoding/' + name); found[name] = texts.map(t => encode(t, { allowedSpecial: 'all' }).length);
}
process.stdout.write(JSON.stringify(found));
"""
PER_TYPE = 300


def samples(base: Path) -> dict[str, list[str]]:
    """Texts by kind: stretches of pages by type, paths, and whole printed slices."""
    layout = store.layout_at(base)
    build(layout)
    db = store.state(layout)
    draw = random.Random(1)
    found: dict[str, list[str]] = defaultdict(list)
    for kind, path, text in db.execute(
        "select s.type, c.path, c.text from chunk c join searched s on s.path = c.path order by c.id"
    ):
        start = draw.randrange(max(1, len(text) - 260)) if draw.random() < 0.5 else 0
        found[kind].append(text[start : start + 260] if start else text)
        found["path"].append(path)
    found = defaultdict(
        list, {kind: draw.sample(texts, min(len(texts), PER_TYPE)) for kind, texts in found.items()}
    )
    loader = Loader(db)
    questions = [
        text
        for (text,) in db.execute("select text from chunk where length(text) > 200 order by id")
    ][:: max(1, PER_TYPE)]
    for target in ("", *targets(db)):
        for question in questions[:6]:
            for step in ("hypothesis", "profile", "verify"):
                found[f"slice {step}"].append(
                    to_markdown(
                        loader.slice(
                            Request(step, query=question[:400], target=target, budget=4000)
                        )
                    )
                )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--node-modules", type=Path, required=True)
    parser.add_argument("bases", nargs="+", type=Path)
    args = parser.parse_args()
    for base in args.bases:
        found = samples(base)
        flat = [(kind, text) for kind, texts in sorted(found.items()) for text in texts]
        done = subprocess.run(
            ["node", "-e", COUNT],
            input=json.dumps([t for _, t in flat]),
            capture_output=True,
            text=True,
            check=True,
            cwd=args.node_modules.parent,
        )
        real = json.loads(done.stdout)
        print(base)
        for kind in sorted(found):
            at = [i for i, (k, _) in enumerate(flat) if k == kind]
            mine = [tokens_of(flat[i][1]) for i in at]
            row = []
            for counts in real.values():
                ratios = [m / max(1, counts[i]) for m, i in zip(mine, at, strict=True)]
                row.append(
                    f"{sum(mine) / max(1, sum(counts[i] for i in at)):.3f} (least {min(ratios):.2f})"
                )
            print(f"  {kind:<18} {len(at):>5}  o200k_base {row[0]}  cl100k_base {row[1]}")


if __name__ == "__main__":
    main()
