"""Reading JSON into dataclasses from several threads: the first use of a class by two at once ended the process."""

import subprocess
import sys

FIRST_USES = """
import sys, threading
from dataclasses import make_dataclass
from landspeed.base.json_form import from_plain

sys.setswitchinterval(1e-6)
for number in range(50):
    part = make_dataclass(f"Part{number}", [(f"field_{k}", int) for k in range(12)])
    whole = make_dataclass(f"Whole{number}", [(f"part_{k}", part) for k in range(4)])
    data = {f"part_{k}": {f"field_{j}": j for j in range(12)} for k in range(4)}
    together = threading.Barrier(4)
    made = []
    threads = [
        threading.Thread(target=lambda: (together.wait(), made.append(from_plain(data, whole)))) for _ in range(4)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert [each.part_3.field_11 for each in made] == [11] * 4
"""


def test_a_class_is_used_first_by_several_threads() -> None:
    done = subprocess.run([sys.executable, "-c", FIRST_USES], capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
