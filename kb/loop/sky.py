"""A job of one experiment for SkyPilot, which fans out over machines so that kb need not: written and checked.

The log of a job is its record (the job itself always ends well): METRIC lines with spread and count of the repeats, how the checks
went, how it ended. Refuses to overwrite a job that kb did not write.
"""

import json
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from kb import KbError, store
from kb.experiments.targets import Target
from kb.page import read
from kb.text import command_of, name_words

NAME = "experiment.yaml"
_MARK = "# Written by `kb loop"
_RUN = r"""cd ~/sky_workdir
report() { echo "EXPERIMENT_ID: ${EXPERIMENT_ID}"; echo "EXPERIMENT_STATUS: $1"; [ -z "$2" ] || echo "EXPERIMENT_ERROR: $2"; exit 0; }
echo "EXPERIMENT: ${EXPERIMENT_ID}"
echo "DESC: ${EXPERIMENT_DESC}"
log=$(mktemp)
timeout "${BENCH_TIMEOUT}" sh -c "${BUILD_CMD}" > "$log" 2>&1 || { tail -n 30 "$log"; report crash "the build failed"; }
checks=skipped
if [ -n "${CHECK_CMD}" ]; then
  if timeout "${CHECK_TIMEOUT}" sh -c "${CHECK_CMD}"; then checks=passed; else checks="failed (exit $?)"; fi
fi
: > "$log"
for turn in $(seq "${REPEATS}"); do
  timeout "${BENCH_TIMEOUT}" sh -c "${BENCH_CMD}" >> "$log" 2>&1 || { tail -n 30 "$log"; report crash "the benchmark failed in turn $turn"; }
done
awk '/^METRIC /{split($2, m, "="); n[m[1]]++; s[m[1]] += m[2]; q[m[1]] += m[2] * m[2]}
  END {for (k in n) {mean = s[k] / n[k]; printf "METRIC %s=%.9g\n", k, mean
    if (n[k] > 1) {v = (q[k] - n[k] * mean * mean) / (n[k] - 1); printf "METRIC %s_stddev=%.9g\nMETRIC %s_n=%d\n", k, sqrt(v > 0 ? v : 0), k, n[k]}}}' "$log"
echo "CHECKS_STATUS: $checks"
case $checks in failed*) report checks_failed "" ;; esac
report done ""
"""


def write_job(layout: store.Layout, target: Target, repository: Path) -> tuple[Path, bool]:
    """The job's file in the repository, and whether skypilot has checked it. Raises KbError where somebody else's stands there."""
    file = repository / NAME
    if file.is_file() and not store.bytes_of(file, declared=True).startswith(_MARK.encode()):
        raise KbError(
            f"{file}: is not kb's; move it aside, and kb writes the job of one experiment"
        )
    text = job_of(layout, target)
    checked = check(text, file)
    store.write(file, text, declared=True)
    return file, checked


def job_of(layout: store.Layout, target: Target) -> str:
    """The text of a job: resources as the target page's `resources:` says them, and its commands as variables that a launch may set."""
    if not target.benchmark:
        raise KbError(
            f"no benchmark: say `benchmark:` in {layout.page(f'targets/{target.name}.md')}; the job runs it"
        )
    front = read(target.path, store.read_bytes(layout, target.path)).front if target.path else {}
    stated = front.get("resources")
    seconds = f"{target.timeout_s:g}"
    task = {
        "name": "-".join(["kb", *name_words(target.name)]),
        "resources": stated if isinstance(stated, dict) else {"cpus": "4+", "memory": "8+"},
        "workdir": ".",
        "envs": {
            "EXPERIMENT_ID": "baseline",
            "EXPERIMENT_DESC": "baseline measurement",
            "BUILD_CMD": target.build or "true",
            "BENCH_CMD": target.benchmark,
            "CHECK_CMD": target.checks,
            "REPEATS": str(target.repeats),
            "BENCH_TIMEOUT": seconds,
            "CHECK_TIMEOUT": seconds,
        },
    }
    lines = [
        f"{_MARK} {target.name} --on sky`. Its log is the record: `{command_of('import skypilot LOG --target', target.name)}`."
    ]
    for key, value in task.items():
        # A value in JSON is one in YAML, whatever it holds.
        inner = value.items() if isinstance(value, dict) else ()
        lines.append(f"{key}:" if inner else f"{key}: {json.dumps(value)}")
        lines += [f"  {name}: {json.dumps(item)}" for name, item in inner]
    for key, script in (("setup", 'cd ~/sky_workdir\nsh -c "${BUILD_CMD}"\n'), ("run", _RUN)):
        lines += ["", f"{key}: |", *(f"  {line}" if line else "" for line in script.splitlines())]
    return "\n".join(lines) + "\n"


def check(text: str, file: Path) -> bool:
    """Whether skypilot has found the job valid; False where it is not installed. Raises KbError where it refuses the job."""
    if not find_spec("sky"):
        return False
    # A program of its own: the package is large, and raises whatever it likes.
    code = "import sky, sys; sky.Task.from_yaml_str(sys.stdin.read())"
    words = [sys.executable, "-P", "-c", code]
    done = subprocess.run(words, input=text, capture_output=True, text=True, cwd=file.parent)
    if done.returncode:
        why = done.stderr.strip().rpartition("\n")[2][-400:]
        raise KbError(
            f"{file}: refused by skypilot, not written: {why}; mend `resources:` of the target's page"
        )
    return True


def launch_of(file: Path, number: int) -> str:
    """The command that starts the job of one experiment."""
    folder = shlex.quote(str(file.parent))
    return f"cd {folder} && sky launch -d -c kb-{number} {NAME} --env EXPERIMENT_ID=exp-{number:02d} --env EXPERIMENT_DESC='...'"
