"""A kernel as the user asks for it: by series, release, build or path; what can be had, and what is not there."""

import json
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from landspeed.base.errors import ScenarioError
from landspeed.scenario.file.load import load_scenario
from landspeed.scenario.plan.plan import Plan
from landspeed.worlds.emu import kernel_build as build
from landspeed.worlds.emu import kernel_choice as choice
from landspeed.worlds.emu import kernel_source
from landspeed.worlds.emu.kernel_build import SYMBOLS, TRACING_SYMBOL
from landspeed.worlds.emu.kernel_source import Apt, KernelError, package_version
from landspeed.worlds.emu.world import EmuOptions, EmuWorld
from landspeed.worlds.registry import plan_for
from tests.support.command import landspeed
from tests.support.emu_fixtures import plan_of, scenario, write_scenario

PLAIN = scenario([{"one_way_delay": "1 ms"}] * 2)
KEYS = {"6.12.117": "aaaaaaaaaaaaaaaa", "7.3.4": "bbbbbbbbbbbbbbbb", "7.3.3": "bbbbbbbb00000000"}


def put(folder: Path, version: str, key: str, *symbols: str, **more: object) -> Path:
    """A kernel that can do nothing but lie there; `more` is what the file beside it has."""
    folder.mkdir(parents=True)
    (folder / "linux").write_text("#!/bin/sh\n")
    (folder / "linux").chmod(0o755)
    about = {"key": key, "version": version, "symbols": dict.fromkeys((*SYMBOLS, *symbols), 4096)}
    (folder / "kernel.json").write_text(json.dumps(about | more))
    return folder


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with three kernels, and no source anywhere; the first of 7.3 is the newer build."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(build, "SOURCES", tmp_path / "no sources")
    for age, (version, key) in enumerate(KEYS.items()):
        made = put(build.kernels_folder() / key, version, key, *([TRACING_SYMBOL] if version > "7" else []))
        os.utime(made / "linux", (1e9 - age, 1e9 - age))
    return tmp_path


@pytest.mark.parametrize(
    ("word", "key"),
    [
        (None, KEYS["6.12.117"]),
        ("6.12", KEYS["6.12.117"]),
        ("6.12.117", KEYS["6.12.117"]),
        ("7.3", KEYS["7.3.4"]),
        ("7.3.3", KEYS["7.3.3"]),
        ("bbbbbbbbb", KEYS["7.3.4"]),
    ],
)
def test_a_kernel_is_found_by_series_release_and_key(cache: Path, word: str | None, key: str) -> None:
    assert choice.choose(word).key == key


def test_a_kernel_is_found_by_path(cache: Path) -> None:
    folder = put(cache / "mine", "6.13.1", "cccccccccccccccc")
    assert choice.choose(str(folder)).version == choice.choose(f"{folder}/linux").version == "6.13.1"


@pytest.mark.parametrize("word", ["6.1", "7.3.9", "bbbbbb", "ffffff", "seven", ""])
def test_a_kernel_that_is_not_there_lists_those_that_are(cache: Path, word: str) -> None:
    """Two builds have a key that begins with bbbbbb."""
    listed = ", ".join(f"{version} ({key})" for version, key in KEYS.items())
    with pytest.raises(KernelError, match=re.escape(f"no kernel '{word}' here; there are {listed}")) as caught:
        choice.choose(word)
    assert ("landspeed kernel build" in str(caught.value)) == word.startswith(("6.", "7."))


@pytest.mark.parametrize("name", ["nothing", "folder", "text", "program"])
def test_a_path_without_a_kernel_says_so(cache: Path, name: str) -> None:
    (cache / "folder").mkdir()
    (cache / "text").write_text("no program")
    (cache / "program").symlink_to("/bin/true")
    with pytest.raises(KernelError, match=rf"no kernel at .*{name}; there are 6\.12|{name} is not a User-Mode Linux"):
        choice.choose(str(cache / name))


def test_of_a_series_whose_source_is_known_only_the_present_recipe_counts(cache: Path) -> None:
    """A build of another recipe has to be named whole."""
    sources = build.fetched_sources()
    sources.mkdir()
    (sources / "linux-source-7.3.tar.xz").touch()
    (sources / "linux-source-7.3.tar.xz.version").write_text("linux-source-7.3\t7.3.4-1\n")
    with pytest.raises(KernelError, match=r"no kernel '7\.3' here; .*`landspeed kernel build 7\.3` makes it"):
        choice.choose("7.3")
    assert choice.choose("7.3.4").key == KEYS["7.3.4"]
    key = build.kernel_key(sources / "linux-source-7.3.tar.xz")
    put(build.kernels_folder() / key, "7.3.4", key)
    assert choice.choose("7.3").key == choice.choose("7.3.4").key == key


def test_a_kernel_with_patches_of_the_users_own_is_called_by_them(cache: Path) -> None:
    """It never stands for the series alone; of two builds of one name, the present recipe's counts, then the newest."""
    for age, (key, own, recipe) in enumerate(
        (("c1" * 8, ["mine"], ""), ("c2" * 8, ["mine"], KEYS["7.3.4"]), ("c3" * 8, ["mine", "more"], KEYS["7.3.4"]))
    ):
        made = put(build.kernels_folder() / key, "7.3.4", key, own=own, recipe=recipe)
        os.utime(made / "linux", (2e9 - age, 2e9 - age))
    assert choice.choose("7.3").key == choice.choose("7.3.4").key == KEYS["7.3.4"]
    assert choice.choose("7.3+mine").key == choice.choose("7.3.4+mine").key == "c1" * 8
    assert choice.choose("7.3+mine+more").name == "7.3.4+mine+more"
    with pytest.raises(
        KernelError, match=r"no kernel '7\.3\+more' here; .*7\.3\.4\+mine \(c1.*build 7\.3 --patch more\.patch`"
    ):
        choice.choose("7.3+more")
    sources = build.fetched_sources()
    sources.mkdir()
    (sources / "linux-source-7.3.tar.xz").touch()
    present = build.kernel_key(sources / "linux-source-7.3.tar.xz")
    put(build.kernels_folder() / ("c4" * 8), "7.3.4", "c4" * 8, own=["mine"], recipe=present)
    assert choice.choose("7.3+mine").key == "c4" * 8
    rows = {row.kernel.key: row for row in choice.listed() if row.kernel}
    assert [rows[each * 8].present for each in ("c1", "c4")] == [False, True]
    assert [row.kernel for row in choice.listed() if row.series == "7.3"].count(None) == 1  # not built without it
    assert len(choice.remove("7.3+mine")) == 3
    assert choice.choose("7.3.4+mine+more").key == "c3" * 8


def test_what_is_added_to_a_kernel_must_be_a_patch_with_a_name(tmp_path: Path) -> None:
    for name, text, right in (
        ("mine.patch", "hello\n", r"mine\.patch is no patch: it has no line that begins with '@@ -'"),
        ("my own.diff", "@@ -1 +1 @@\n", r"give it a name of letters"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(KernelError, match=right):
            choice.make("7.3", [tmp_path / name])
    with pytest.raises(KernelError, match="cannot be read"):
        choice.make("7.3", [tmp_path / "none.patch"])
    (tmp_path / "mine.patch").write_text("@@ -1 +1 @@\n")
    with pytest.raises(KernelError, match="two of the patches have the same name"):
        choice.make("7.3", [tmp_path / "mine.patch"] * 2)


def test_removing_takes_builds_and_the_source_that_was_brought(cache: Path) -> None:
    sources = build.fetched_sources()
    sources.mkdir()
    for name in ("linux-source-7.3.tar.xz", "linux-source-7.3.tar.xz.version", "linux-source-7.2.tar.xz"):
        (sources / name).touch()
    assert len(choice.remove("7.3.3")) == 1
    assert len(choice.remove("7.3")) == 3
    assert [path.name for path in sources.iterdir()] == ["linux-source-7.2.tar.xz"]
    with pytest.raises(KernelError, match=r"no kernel '7\.3' in the cache; there are 6\.12\.117"):
        choice.remove("7.3")
    assert [kernel.version for kernel in build.built_kernels()] == ["6.12.117"]


def test_seccomp_is_asked_only_of_a_kernel_that_has_it(cache: Path) -> None:
    old, new = choice.choose("6.12"), choice.choose("7.3")
    assert choice.tracing_words(old, "auto") == choice.tracing_words(old, "ptrace") == []
    assert choice.tracing_words(new, "auto") == ["seccomp=auto"]
    assert choice.tracing_words(new, "ptrace") == ["seccomp=off"]
    assert choice.tracing_words(new, "seccomp") == ["seccomp=on"]
    with pytest.raises(KernelError, match=r"Linux 6\.12\.117 .* cannot run programs by seccomp; these can: 7\.3\.4 "):
        choice.tracing_words(old, "seccomp")


# --- The plan --------------------------------------------------------------------------------------------------------


def test_a_kernel_counts_for_the_plans_hash_only_when_asked_for(tmp_path: Path) -> None:
    plain, asked = plan_of(tmp_path, PLAIN), plan_of(tmp_path, PLAIN | {"kernel": "6.12"})
    assert plain.kernel is None
    assert asked.kernel == "6.12"
    assert len({plain.sha256, asked.sha256, replace(plain, kernel="7.3").sha256}) == 3
    assert replace(asked, kernel=None).sha256 == plain.sha256
    assert Plan.from_json(asked.to_json()).kernel == "6.12"


def test_the_option_goes_before_the_scenario_and_into_the_plan(cache: Path) -> None:
    plan = plan_of(cache, PLAIN | {"kernel": "6.12"})
    assert EmuWorld().kernel_of(plan).version == "6.12.117"
    world = EmuWorld(EmuOptions(kernel="7.3"))
    assert world.kernel_of(plan).version == "7.3.4"
    assert world.with_options(plan).kernel == "7.3"
    path = put(cache / "mine", "6.13.1", "cccccccccccccccc")
    assert EmuWorld(EmuOptions(kernel=str(path))).with_options(plan).kernel == "cccccccccccccccc"
    assert EmuWorld().with_options(plan) is plan


@pytest.mark.parametrize("wrong", [6.12, 7, "6", "newest", "6.12.1.2", ""])
def test_a_kernel_is_a_version_in_quotes(tmp_path: Path, wrong: object) -> None:
    with pytest.raises(ScenarioError, match=r'not a version of Linux(?s:.*)in quotes: kernel: "6\.12"'):
        plan_of(tmp_path, PLAIN | {"kernel": wrong})


def test_worlds_without_a_kernel_of_their_own_refuse_the_key(tmp_path: Path) -> None:
    loaded = load_scenario(write_scenario(tmp_path, PLAIN | {"kernel": "6.12"}))
    for world in ("sim", "real"):
        with pytest.raises(ScenarioError, match=rf"kernel is not in the world '{world}'(?s:.*)--world emu"):
            plan_for(loaded, world)


def test_a_package_is_named_as_dpkg_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a start of dpkg, which each run would wait for; an archive of no package is known by size and time."""
    status = (
        "Package: linux-source\nVersion: 6.1\n\nPackage: linux-source-6.12\nSection: kernel\nVersion: 6.12.9-1~x\n\n"
    )
    monkeypatch.setattr(kernel_source, "DPKG_STATUS", tmp_path / "status")
    (tmp_path / "status").write_text(f"Package: a\n\n{status}Package: z\nVersion: 2\n")
    archive = tmp_path / "linux-source-6.12.tar.xz"
    archive.write_bytes(b"7 bytes")
    assert package_version(archive) == "linux-source-6.12\t6.12.9-1~x"
    other = archive.rename(tmp_path / "linux-source-6.11.tar.xz")
    assert package_version(other) == f"linux-source-6.11.tar.xz 7 {other.stat().st_mtime_ns}"


# --- apt -------------------------------------------------------------------------------------------------------------

FAKES = {
    "apt-cache": 'printf "linux-source-6.1\\nlinux-source-6.12\\nlinux-source-6.8.0\\nlinux-source\\n"\n'
    '[ -z "${APT_CONFIG:-}" ] || printf "linux-source-7.3\\n"\n',
    "apt-get": """case $* in
*indextargets*) printf 'Debian|Debian|http://archive.invalid/debian/||main\\n' ;;
*update*) cat "$APT_CONFIG" "${APT_CONFIG%apt.conf}beside.list" >"$HOME/updated" ;;
*download*) echo "${APT_CONFIG:-none}" >x.deb ;;
esac
""",
    "dpkg-deb": """case $1 in
-x) mkdir -p "$3/usr/src" && cp "$2" "$3/usr/src/linux-source-7.3.tar.xz" ;;
-f) echo 7.3.4-1 ;;
esac
""",
}


@pytest.fixture
def apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs that answer as apt does, on a Debian whose own sources have no 7.3."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, script in FAKES.items():
        (programs / name).write_text(f"#!/bin/sh\n{script}")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("APT_CONFIG", raising=False)
    return tmp_path


def test_apts_own_sources_are_asked_first_then_the_suites_beside(apt: Path) -> None:
    """Releases before 6.6 are none; a source beside is brought with lists and settings of its own."""
    here = Apt(apt / "apt")
    assert here.packages() == {"6.12": "linux-source-6.12", "6.8": "linux-source-6.8.0"}
    assert not (apt / "apt").exists()
    archive = here.fetch("7.3", apt / "sources")
    told = (apt / "updated").read_text()
    assert "http://archive.invalid/debian/ trixie-backports main" in told
    assert f'Dir::State::lists "{apt}/apt/lists"' in told
    assert archive.read_text().strip() == f"{apt}/apt/apt.conf"
    assert sorted(path.name for path in (apt / "sources").iterdir()) == [archive.name, f"{archive.name}.version"]
    assert (apt / "sources" / f"{archive.name}.version").read_text() == "linux-source-7.3\t7.3.4-1\n"
    with pytest.raises(KernelError, match=r"no source of Linux 7\.9: apt has 6\.8, 6\.12, 7\.3"):
        here.fetch("7.9", apt / "sources")


def test_without_apt_a_source_is_to_be_put_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(KernelError, match=r"no source of Linux 7\.3: apt has none"):
        Apt(tmp_path / "apt").fetch("7.3", tmp_path)


# --- The command -----------------------------------------------------------------------------------------------------


@pytest.mark.guest
def test_the_command_lists_what_is_built(cache: Path) -> None:
    shown = landspeed("kernel", "list")
    assert shown.returncode == 0, shown.stderr
    assert re.search(r"^7\.3\.4 +b{16} +seccomp or ptrace +built", shown.stdout, re.MULTILINE)
    lines = json.loads(landspeed("kernel", "list", "--json").stdout)
    assert {line["kernel"]["key"] for line in lines if line["kernel"]} == set(KEYS.values())


@pytest.mark.guest
@pytest.mark.parametrize(
    "words",
    [
        ("run", "first", "--kernel", "5.4"),
        ("run", "first", "--set", 'kernel="5.4"'),
        ("compare", "first", "--kernels", "7.3,5.4"),
        ("kernel", "remove", "5.4"),
    ],
)
def test_a_kernel_that_is_not_there_is_bad_input(cache: Path, words: tuple[str, ...]) -> None:
    done = landspeed(*words)
    assert done.returncode == 2, done.stderr
    assert re.search(r"no kernel '5\.4' (here|in the cache); there are 6\.12\.117 \(a{16}\), 7\.3\.4", done.stderr)


@pytest.mark.guest
def test_what_was_never_built_ends_with_no_traceback(tmp_path: Path) -> None:
    done = landspeed("kernel", "build", "nonsense")
    assert done.returncode == 2
    assert "'nonsense' is not a series of Linux; write two numbers, such as 6.12" in done.stderr
