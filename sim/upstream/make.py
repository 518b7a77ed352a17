"""Makes the merge requests for ns-3 in this folder into patches of a source tree of it, which `git am` takes.

    python sim/upstream/make.py TREE OUT                 # all, each by itself on the tree's own commit
    python sim/upstream/make.py TREE OUT 03-sack-block   # one
    python sim/upstream/make.py TREE OUT --tests-only    # the tests without the mends: each fails

TREE is a git repository of ns-3 with nothing uncommitted (3.48 was tried); it is left as it was. A request is a TOML
file: subject and text of the commit, edits (a file, a fragment of its text, what takes its place, and how many `times`
it is there), and a test of ns-3's own kind. No line of ns-3 is kept here but those fragments.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
LISTED = Path("src/internet/CMakeLists.txt")
TESTS = Path("src/internet/test")
HEAD = """/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

"""


def requests() -> dict[str, dict[str, Any]]:
    """All of them by name, in their order."""
    return {file.stem: tomllib.loads(file.read_text(encoding="utf-8")) for file in sorted(HERE.glob("[0-9]*.toml"))}


def test_file(request: dict[str, Any]) -> str:
    """The test's source: includes, cases, and the suite that registers them."""
    name, cases = request["test"]["suite"], request["test"]["cases"]
    suite = "".join(part.capitalize() for part in name.split("-")) + "TestSuite"
    includes = "".join(f'#include "{each}"\n' for each in sorted(request["test"]["includes"]))
    added = "".join(f"        AddTestCase(new {case}, TestCase::Duration::QUICK);\n" for case in cases)
    brief = f"/**\n * @ingroup internet-test\n *\n * @brief {request['subject']}\n */\n"
    return (
        f"{HEAD}{includes}\nusing namespace ns3;\n\n{request['test']['source'].strip()}\n\n"
        f"{brief}class {suite} : public TestSuite\n{{\n"
        f'  public:\n    {suite}()\n        : TestSuite("{name}", Type::UNIT)\n    {{\n{added}    }}\n}};\n\n'
        f"static {suite} g_{suite[0].lower()}{suite[1:]}; //!< Static variable for test initialization\n"
    )


def changed(text: str, find: str, replace: str, times: int = 1) -> str:
    """The text with a fragment replaced.

    Raises:
        ValueError: the fragment is not there so often.
    """
    if (found := text.count(find)) != times:
        raise ValueError(f"{found} times, not {times}: {find!r}")
    return text.replace(find, replace)


def apply(tree: Path, request: dict[str, Any], *, mend: bool) -> None:
    """Write the test into a tree, and the mend if asked."""
    test = TESTS / f"{request['test']['suite']}-test.cc"
    (tree / test).write_text(test_file(request), encoding="utf-8")
    after = f"    test/{request['test']['after']}-test.cc\n"
    listed = changed((tree / LISTED).read_text(encoding="utf-8"), after, f"{after}    test/{test.name}\n")
    (tree / LISTED).write_text(listed, encoding="utf-8")
    edits: list[dict[str, Any]] = request["edit"] if mend else []
    for edit in edits:
        file = tree / edit["file"]
        text = changed(file.read_text(encoding="utf-8"), edit["find"], edit["replace"], edit.get("times", 1))
        file.write_text(text, encoding="utf-8")


def git(tree: Path, *words: str) -> str:
    """What a command of git prints."""
    done = subprocess.run(["git", "-C", tree, *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def main() -> int:
    """Write the patches."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("tree", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--tests-only", action="store_true", help="without the mends")
    asked = parser.parse_args()
    if git(asked.tree, "status", "--porcelain"):
        sys.exit(f"{asked.tree} has uncommitted changes")
    base = git(asked.tree, "rev-parse", "HEAD")
    asked.out.mkdir(parents=True, exist_ok=True)
    try:
        for name, request in requests().items():
            if asked.names and name not in asked.names:
                continue
            apply(asked.tree, request, mend=not asked.tests_only)
            git(asked.tree, "add", "-A")
            git(asked.tree, "commit", "-q", "--no-verify", "-m", f"{request['subject']}\n\n{request['text'].strip()}")
            patch = git(asked.tree, "format-patch", "-1", "--stdout") + "\n"
            (asked.out / f"{name}.patch").write_text(patch, encoding="utf-8")
            git(asked.tree, "reset", "-q", "--hard", base)
            print(asked.out / f"{name}.patch")
    finally:
        git(asked.tree, "add", "-A")  # what an error has left, too
        git(asked.tree, "reset", "-q", "--hard", base)
    return 0


if __name__ == "__main__":
    sys.exit(main())
