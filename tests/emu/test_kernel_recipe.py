"""The kernel's recipe and its cache: the key, which source and patches are taken, and builds."""

import re
import shutil
import tarfile
import threading
from pathlib import Path

import pytest

from landspeed.worlds.emu import kernel_build as kernel
from landspeed.worlds.emu.kernel_source import Patch, Recipe, fitting
from tests.support.emu_fixtures import ROOT


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the recipe that a test may change."""
    folder = tmp_path / "recipe"
    shutil.copytree(ROOT / "emu" / "kernel", folder)
    with (folder / "releases").open("a") as releases:
        releases.write("9.9\n")
    monkeypatch.setattr(kernel, "RECIPE", folder)
    return folder


def test_the_key_changes_with_option_patch_and_source(recipe: Path, tmp_path: Path) -> None:
    archives = [
        tmp_path / f"linux-source-{version}.tar.xz" for version in ("9.8", "9.9")
    ]  # no package of dpkg has them
    for archive in archives:
        archive.write_bytes(archive.name.encode())
    seen = [kernel.kernel_key(archives[0])]
    assert kernel.kernel_key(archives[0]) == seen[0]
    seen.append(kernel.kernel_key(archives[1]))
    archives[0].write_bytes(b"another size")
    seen.append(kernel.kernel_key(archives[0]))
    with (recipe / "config").open("a") as config:
        config.write("CONFIG_NET_SCH_CAKE=y\n")
    seen.append(kernel.kernel_key(archives[0]))
    patch = sorted((recipe / "patches").glob("*.patch"))[0]
    patch.write_text(patch.read_text() + "\n")
    seen.append(kernel.kernel_key(archives[0]))
    patch.unlink()
    seen.append(kernel.kernel_key(archives[0]))
    with (recipe / "config-mininet").open("a") as config:
        config.write("CONFIG_BONDING=m\n")
    seen.append(kernel.kernel_key(archives[0]))
    with (recipe / kernel.COMPILER).open("a") as compiler:
        compiler.write("# another list of files that are optimized in full\n")
    seen.append(kernel.kernel_key(archives[0]))
    assert len(set(seen)) == len(seen)


def test_no_source_says_which_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(kernel, "SOURCES", tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(kernel.KernelError, match=r"linux-source-6\.12.*make setup"):
        kernel.find_kernel()


def sources(folder: Path, *names: str) -> None:
    """Archives with nothing in them."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def test_a_source_that_the_patches_fit_is_taken_never_the_newest_one(
    recipe: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The order of `releases` counts. What was only brought is taken when it is named."""
    monkeypatch.setattr(kernel, "SOURCES", tmp_path / "src")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (recipe / "releases").write_text("# which fit\n6.12\n6.8\n7.3 # a remark\n")
    src, brought = tmp_path / "src", kernel.fetched_sources()
    sources(src, "linux-source-6.1.tar.xz", "linux-source-8.8.tar.xz")
    with pytest.raises(kernel.KernelError, match=r"known to fit: 6\.12, 6\.8, 7\.3 \(there is 8\.8; "):
        kernel.find_source()
    sources(brought, "linux-source-7.3.tar.xz", "linux-source-7.3.tar.xz.version")
    assert kernel.find_source("7.3").name == "linux-source-7.3.tar.xz"
    with pytest.raises(kernel.KernelError, match="known to fit"):
        kernel.find_source()
    sources(src, "linux-source-6.8.0/linux-source-6.8.0.tar.bz2")
    assert kernel.find_source().name == "linux-source-6.8.0.tar.bz2"
    sources(src, "linux-source-6.12.tar.xz")
    assert kernel.find_source().name == "linux-source-6.12.tar.xz"
    assert kernel.find_source("8.8").name == "linux-source-8.8.tar.xz"
    with pytest.raises(kernel.KernelError, match=r"no source of Linux 7\.1 here; `landspeed kernel build 7\.1`"):
        kernel.find_source("7.1")


def test_a_series_has_patches_of_its_own(recipe: Path, tmp_path: Path) -> None:
    """They differ from the general ones, an empty one stands for one that is not needed; later series have them too."""
    general = sorted(path.name for path in (recipe / "patches").glob("*.patch"))
    shutil.rmtree(recipe / "series")
    (recipe / "patches" / general[0]).write_text("one\ntwo\nthree\n")
    for series, name, text in (
        ("7.2", f"{general[0]}.diff", "--- a\n+++ b\n@@ -0,0 +1 @@\n+no\n@@ -2 +3 @@\n-two\n+own\n"),
        ("7.2", general[1], ""),
        ("7.2", "9999-more.patch", "more"),
        ("7.10", f"{general[0]}.diff", "--- a\n+++ b\n@@ -3 +2,0 @@\n-three\n"),
    ):
        (recipe / "series" / series).mkdir(parents=True, exist_ok=True)
        (recipe / "series" / series / name).write_text(text)
    (recipe / "series" / "7.2" / "config").write_text("CONFIG_NEW=y\n# CONFIG_UML_NET is not set\n")

    def of(series: str) -> Recipe:
        return Recipe.of(recipe, series)

    assert [(patch.name, patch.text) for patch in of("6.12").patches] == [
        (name, (recipe / "patches" / name).read_text()) for name in general
    ]
    for series in ("7.2", "7.9"):
        assert [patch.name for patch in of(series).patches] == [general[0], *general[2:], "9999-more.patch"]
        assert of(series).patches[0].text == "no\none\nown\nthree\n"
        assert {"CONFIG_NEW=y", "CONFIG_NET=y"} <= set(of(series).options())
        assert "CONFIG_UML_NET=y" not in of(series).options()
    assert [patch.name for patch in of("7.10").patches] == general
    assert of("7.10").patches[0].text == "one\ntwo\n"
    assert "CONFIG_UML_NET=y" in of("7.10").options()
    archive = tmp_path / "linux-source-7.2.tar.xz"
    archive.touch()
    before = kernel.kernel_key(archive)
    (recipe / "series" / "7.2" / "9999-more.patch").write_text("else")
    assert kernel.kernel_key(archive) != before
    (recipe / "patches" / general[0]).write_text("one\n2\nthree\n")
    with pytest.raises(
        kernel.KernelError, match=rf"^series/7\.2/{general[0]}\.diff: line 2 of the general patch has chang"
    ):
        of("7.2")


@pytest.mark.parametrize("series", fitting(kernel.RECIPE))
def test_the_patches_of_each_series_are_whole(series: str) -> None:
    """Each hunk has as many lines as its head says, also where the patch is made of a general one and what differs."""
    for patch in Recipe.of(kernel.RECIPE, series).patches:
        lines = iter(patch.text.splitlines())
        heads = 0
        for line in lines:
            if head := re.match(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@", line):
                heads += 1
                old, new = (int(each or 1) for each in head.groups())
                while old or new:
                    sign = next(lines)[:1]
                    assert sign in ("", " ", "+", "-"), patch.name
                    old, new = old - (sign != "+"), new - (sign != "-")
                assert old == new == 0, patch.name
            else:
                assert not line.startswith(("+ ", "- ", "+\t", "-\t")), patch.name
        assert heads, patch.name


def test_every_patch_says_in_its_series_what_it_says_in_general() -> None:
    """What a series has differs from a general patch, stands for none, or has a number that none of them has."""
    general = {path.name for path in (kernel.RECIPE / "patches").glob("*.patch")}
    numbers = {name[:4] for name in general}
    for patch in (kernel.RECIPE / "series").glob("*/*.patch*"):
        if patch.suffix == ".diff":
            assert patch.stem in general, patch
        else:
            assert patch.stat().st_size == 0 if patch.name in general else patch.name[:4] not in numbers, patch


def test_a_patch_that_must_fit_and_does_not_is_named(
    recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One for speed is left out, and the build knows it."""
    hunk = "--- a/README\n+++ b/README\n@@ -1 +1 @@\n-{}\n+Linux, patched\n"
    source = tmp_path / "source"
    source.mkdir()
    (source / "README").write_text("Linux\n")
    for patch in recipe.rglob("*.patch"):
        patch.unlink()
    (recipe / "patches" / "0001-speed.patch").write_text(hunk.format("Hurd"))
    (recipe / "patches" / "0002-needed.patch").write_text(hunk.format("Linux"))
    with (tmp_path / "log").open("w") as log:
        assert kernel.apply_patches(Recipe.of(recipe, "6.12"), "6.12", source, log) == ["0001-speed"]
        assert (source / "README").read_text() == "Linux, patched\n"
        with pytest.raises(
            kernel.KernelError, match=r"0002-needed\.patch does not fit Linux 6\.12; .* fit 6\.12, 6\.8"
        ):
            kernel.apply_patches(Recipe.of(recipe, "6.12"), "6.12", source, log)


def test_a_kernel_that_is_not_built_says_make_setup(
    recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(kernel.KernelError, match=r"is not built; run `make setup`"):
        kernel.find_kernel()


@pytest.mark.guest
def test_a_built_kernel_serves_when_its_source_is_gone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    built = kernel.find_kernel()
    monkeypatch.setattr(kernel, "SOURCES", tmp_path)
    assert kernel.find_kernel().version == built.version


MAKEFILE = """
O ?= .
tinyconfig:
\tprintf 'CONFIG_ONE=y\\n%b' "$$MORE_OPTIONS" >$(O)/.config
olddefconfig: ;
linux:
\tmkdir -p $(O)/include/config && echo 9.9.1+ >$(O)/include/config/kernel.release
\tgcc -g -o $(O)/linux -x c linux.c
INFO = __attribute__((section(".modinfo"))) const char info[] =
modules: $(filter linux,$(MAKECMDGOALS))  # Linux's own compares them with the program, where it builds both
\ttest -e $(O)/linux || test "$$KBUILD_MODPOST_WARN" = 1
\tmkdir $(O)/net
\techo '$(INFO) "depends=z_llc";' | gcc -g -c -x c -o $(O)/net/a_bridge.ko -
\techo '$(INFO) "depends=";' | gcc -g -c -x c -o $(O)/net/z-llc.ko -
"""
PROGRAM = "long time_travel_time; char *um_running_comm = {}; int main(void) {{ return 0; }}\n"


@pytest.mark.slow
def test_a_build_leaves_program_options_and_addresses(
    recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From an archive that is as small as one can be; of its patches the one for speed does not fit."""
    source = tmp_path / "linux-source-9.9"
    (source / "scripts" / "kconfig").mkdir(parents=True)
    (source / "scripts" / "kconfig" / "merge_config.sh").write_text('#!/bin/sh\nshift 4\ncat >>$OUT "$@"\n')
    (source / "scripts" / "kconfig" / "merge_config.sh").chmod(0o755)
    (source / "Makefile").write_text(MAKEFILE)
    (source / "linux.c").write_text(PROGRAM.format("0"))
    archive = tmp_path / "linux-source-9.9.tar.xz"
    with tarfile.open(archive, "w:xz") as tar:
        tar.add(source, source.name)
    for patch in recipe.rglob("*.patch"):
        patch.unlink()
    shutil.rmtree(recipe / "series")
    hunk = f"--- a/linux.c\n+++ b/linux.c\n@@ -1 +1 @@\n-{PROGRAM.format('{}')}+{PROGRAM.format('{}')}"
    (recipe / "patches" / "0001-name.patch").write_text(hunk.replace("{}", "0", 1).replace("{}", '"idle"', 1))
    (recipe / "patches" / "0002-more-speed.patch").write_text(hunk.replace("{}", "7", 1).replace("{}", "8", 1))
    (recipe / "config").write_text("CONFIG_TWO=y\n# CONFIG_THREE is not set\n")
    (recipe / "config-mininet").write_text("CONFIG_FOUR=m\n")  # which this series lacks, and no run needs
    monkeypatch.setattr(kernel, "SOURCES", tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("OUT", str(tmp_path / "config"))
    with pytest.raises(
        kernel.KernelError, match=r"linux-source-9\.9\.tar\.xz does not take these options: CONFIG_TWO=y"
    ):
        kernel.build_kernel()
    (recipe / "config").write_text("CONFIG_ONE=y\n")
    built = kernel.build_kernel()
    assert built == kernel.find_kernel()
    assert (built.version, built.series, built.left_out) == ("9.9.1", "9.9", ("0002-more-speed",))
    assert built.source.startswith("linux-source-9.9")
    assert set(built.symbols) == set(kernel.SYMBOLS) and all(built.symbols.values())
    assert b"idle" in built.executable.read_bytes()
    assert (built.executable.parent / "config").read_text() == "CONFIG_ONE=y\n"
    assert built.modules == []
    assert kernel.build_kernel(modules=True) == built  # they alone: the program is as it was
    assert [module.name for module in built.modules] == ["z-llc.ko", "a_bridge.ko"]  # the second needs the first
    assert not [module for module in built.modules if b".debug_info" in module.read_bytes()]
    assert not built.can_seccomp
    assert (built.own, built.recipe) == ((), built.key)
    (tmp_path / "mine.patch").write_text(hunk.replace("{}", '"idle"', 1).replace("{}", '"mine"', 1))
    mine = kernel.build_kernel(own=[Patch.added(tmp_path / "mine.patch")])
    assert (mine.name, mine.recipe) == ("9.9.1+mine", built.key) and mine.key != built.key
    assert b"mine" in mine.executable.read_bytes() and b"mine" not in built.executable.read_bytes()
    assert kernel.find_kernel() == built
    with pytest.raises(
        kernel.KernelError, match=r"mine\.patch does not fit Linux 9\.9 .*: checking file linux\.c Hunk"
    ):
        kernel.build_kernel(own=[Patch("mine.patch", hunk.replace("{}", "7", 1).replace("{}", "8", 1), own=True)])
    assert b".debug_info" not in built.executable.read_bytes()
    monkeypatch.setenv("MORE_OPTIONS", kernel.DEBUG_INFO)
    (recipe / "config").write_text("CONFIG_ONE=y\nCONFIG_DEBUG_INFO=y\n")
    with_lines = kernel.build_kernel(modules=True)
    assert len(with_lines.modules) == 2
    assert with_lines.symbols == built.symbols
    assert b".debug_info" in with_lines.executable.read_bytes()


def test_a_build_that_fails_names_its_log_and_leaves_nothing(
    recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An archive whose Makefile fails; then an archive that is none."""
    source = tmp_path / "linux-source-9.9"
    source.mkdir()
    (source / "Makefile").write_text("%:\n\t@echo no such board; exit 1\n")
    archive = tmp_path / "linux-source-9.9.tar.xz"
    with tarfile.open(archive, "w:xz") as tar:
        tar.add(source, source.name)
    for patch in recipe.rglob("*.patch*"):
        patch.unlink()
    monkeypatch.setattr(kernel, "SOURCES", tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(kernel.KernelError, match=r"(?s)kernel build failed .*\.log:.*no such board"):
        kernel.build_kernel()
    archive.write_bytes(b"not an archive")
    with pytest.raises(kernel.KernelError, match=r"linux-source-9\.9\.tar\.xz: the kernel cannot be built"):
        kernel.build_kernel()
    left = [
        path
        for path in (tmp_path / "cache/landspeed/kernel").iterdir()
        if path.suffix not in (".log", ".lock") and path.name != "lock"
    ]
    assert left == []


def test_two_set_ups_at_once_build_once(recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second waits for the first and finds its kernel in the cache."""
    archive = tmp_path / "linux-source-9.9.tar.xz"
    archive.touch()
    monkeypatch.setattr(kernel, "SOURCES", tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    builds = []

    def build(archive: Path, scratch: Path, key: str, log: object, targets: object, **_: object) -> None:
        builds.append(key)
        (scratch / "result").mkdir()
        executable = scratch / "result" / "linux"
        executable.touch()
        executable.chmod(0o755)
        (scratch / "result" / "kernel.json").write_text(f'{{"key": "{key}", "version": "9.9", "symbols": {{}}}}')

    monkeypatch.setattr(kernel, "_build", build)
    threads = [threading.Thread(target=kernel.build_kernel) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(builds) == 1
    assert kernel.built_kernels()[0].version == "9.9"
