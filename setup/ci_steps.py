"""The steps of a workflow of docs/how-to/ci.md as a script for the shell: what a runner of GitHub does, done here.

    python setup/ci_steps.py long-paths-clone.yml FOLDER

writes FOLDER/steps.sh, and into FOLDER/work the page's test beside a README.md: a project as the page has it. The `run`
steps stand there word for word, each in a shell of its own, as GitHub runs them. Of the actions, a checkout takes what
lies in ~/checkout, Python is the machine's own, and whoever runs the script fills the cache's folder. What is not known
is an error.
"""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from docs.blocks import read_blocks

PAGE = Path(__file__).resolve().parent.parent / "docs" / "how-to" / "ci.md"
HEAD = """\
set -eu
cd ~/work
export GITHUB_OUTPUT=~/output PATH="$PATH"
began=$(date +%s.%N)
took() { awk "BEGIN { printf \\"step: %6.1f s: %s\\\\n\\", $(date +%s.%N) - $1, \\"$2\\" }"; }
"""
TAIL = 'took "$began" "all, to the first green test"\n'
ACTIONS = {
    "actions/checkout": "",
    "actions/setup-python": 'python3 -m venv ~/python\nexport PATH="$HOME/python/bin:$PATH"\n',
    "actions/cache": "",
}
FOR_FAILURES = "actions/upload-artifact"


def page_files() -> dict[str, str]:
    """The files that the page shows."""
    return {block.text: block.body for block in read_blocks(PAGE) if block.verb == "file"}


def step_script(step: dict[str, Any]) -> str:
    """What the step does, for the shell.

    Raises:
        ValueError: an action that is not known.
    """
    if "run" in step:
        first = step["run"].splitlines()[0]
        return f"bash -e -o pipefail -c {shlex.quote(step['run'])} </dev/null\n" + _timed(first)
    action = step["uses"].partition("@")[0]
    if action == FOR_FAILURES:
        return ""
    if action not in ACTIONS:
        raise ValueError(f"ci_steps.py: the action {action} is not known here; add it to ACTIONS")
    where = step.get("with", {}).get("path") if action == "actions/checkout" else None
    return (f"cp -R ~/checkout {shlex.quote(where)}\n" if where else ACTIONS[action]) + _timed(step["uses"])


def _timed(what: str) -> str:
    said = re.sub(r'["\\$`]', "", what)[:60]
    return f'took "$step" {shlex.quote(said)}\n'


def workflow_script(text: str) -> str:
    """All steps of the one job."""
    workflow: Any = YAML(typ="safe").load(text)
    (job,) = workflow["jobs"].values()
    steps = [script for step in job["steps"] if (script := step_script(step))]
    return HEAD + "".join(f"step=$(date +%s.%N)\n{each}" for each in steps) + TAIL


def main(name: str, folder: str) -> int:
    """Write them."""
    files = page_files()
    if name not in files:
        print(f"ci_steps.py: no file '{name}' on the page; there are {', '.join(files)}", file=sys.stderr)
        return 2
    work = Path(folder, "work")
    work.mkdir(parents=True)
    (work / "README.md").write_text("A file to download.\n" * 1000)
    for file, body in files.items():
        if file.endswith(".py"):
            (work / file).write_text(body)
    Path(folder, "steps.sh").write_text(workflow_script(files[name]))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
