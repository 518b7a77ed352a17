"""The compiler of the kernel's build: which files take the headers that are compiled once, and what comes out."""

import re
import subprocess
from pathlib import Path

import pytest

from landspeed.worlds.emu import kernel_build as kernel

FIRST = ("compiler-version", "kconfig", "compiler_types")  # which Linux's build includes itself
SPARINGLY = ("-Og", "-ftree-bit-ccp")  # how what no packet passes is optimized
USES = '#include <linux/slab.h>\nconst char *says(void) { return KBUILD_MODNAME ": " SIZE; }\n'


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Sources as Linux's, each header with a guard alone, but one; and a copy of the compiler beside them."""
    tmp_path /= "linux-source-6.12"
    tmp_path.mkdir()
    script = tmp_path / "cc.sh"
    script.write_text((kernel.RECIPE / "cc.sh").read_text())
    script.chmod(0o755)
    listed = re.findall(r"printf '(linux|net)/%s ' ([\w/ ]+)", script.read_text())
    names = [f"linux/{name}" for name in FIRST] + [
        f"{room}/{name}" for room, room_s in listed for name in room_s.split()
    ]
    for name in names:
        (tmp_path / f"include/{name}.h").parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"include/{name}.h").write_text("#pragma once\n")
    (tmp_path / "include/linux/slab.h").write_text(
        '#ifndef SLAB\n#define SLAB\n#ifndef SIZE\n#define SIZE "small"\n#endif\n#endif\n'
    )
    for name in ("kernel/groups", "net/plain", "net/socket"):
        (tmp_path / f"{name}.c").parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.c").write_text(USES)
    (tmp_path / "net/late.c").write_text('#define SIZE "large"\n' + USES)
    (tmp_path / "net/other.c").write_text('#define OTHER "unknown to the headers"\n' + USES)
    return tmp_path


def compiled(tree: Path, name: str, *compiler: str, more: tuple[str, ...] = ()) -> bytes:
    """Compile a file as Linux's build does, with more options after those of the build. Returns the object."""
    include = [word for each in FIRST for word in ("-include", f"{tree}/include/linux/{each}.h")]
    own = (f'-DKBUILD_BASENAME="{name}"', f'-DKBUILD_MODNAME="{name}"', f"-D__KBUILD_MODNAME=kmod_{name}")
    source = next(tree.glob(f"*/{name}.c"))
    words = ("-nostdinc", f"-I{tree}/include", *include, "-D__KERNEL__", "-O2", f"-Wp,-MMD,{tree}/{name}.d", *own)
    subprocess.run([*compiler, *words, *more, "-c", "-o", f"{tree}/{name}.o", source], check=True, cwd=tree)
    return (tree / f"{name}.o").read_bytes()


def test_headers_are_read_once_and_give_the_same_objects(tree: Path) -> None:
    """Made by the file that the build names first. Then they are not read again: the others have an error in them.

    A file that defines something before it includes reads them itself, which is shown by that error.
    """
    ordinary = {name: compiled(tree, name, "gcc", more=SPARINGLY) for name in ("groups", "plain", "other", "late")}
    ordinary["socket"] = compiled(tree, "socket", "gcc")
    script = str(tree / "cc.sh")
    assert compiled(tree, "plain", script) == compiled(tree, "plain", "gcc")
    assert not (tree / "kernel.h.gch").exists()
    assert compiled(tree, "groups", script) == ordinary["groups"]
    assert (tree / "kernel.h.gch").exists()
    assert compiled(tree, "late", script) == ordinary["late"]
    assert b"large" in ordinary["late"]
    (tree / "include/linux/slab.h").write_text("#ifndef SLAB\n#error read anew\n#endif\n")
    for name in ("plain", "other", "socket"):
        assert compiled(tree, name, script) == ordinary[name]
    assert b"plain: small" in ordinary["plain"]
    assert (tree / "plain.d").read_text() == f"{tree}/plain.o: {tree}/net/plain.c\n"
    with pytest.raises(subprocess.CalledProcessError):
        compiled(tree, "late", script)


def test_what_gcc_cannot_use_them_for_is_compiled_as_ever(tree: Path) -> None:
    """Other flags than those that they were made with, and no file of the kernel."""
    script = str(tree / "cc.sh")
    compiled(tree, "groups", script)
    assert compiled(tree, "plain", script, "-fPIC") == compiled(tree, "plain", "gcc", "-fPIC", more=SPARINGLY)
    version = [subprocess.run([each, "--version"], capture_output=True, check=True).stdout for each in (script, "gcc")]
    assert version[0] == version[1]
