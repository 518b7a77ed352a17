"""The collection landspeed.dtn as one has it who has nothing else of landspeed: built, installed, read, used alone."""

import json
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from ruamel.yaml import YAML

from landspeed.worlds.real.runner import PLAYBOOKS, PLAYS

pytestmark = pytest.mark.slow  # Ansible
ROLES = sorted(folder.name for folder in (PLAYBOOKS / "roles").iterdir())
MODULES = sorted(file.stem for file in (PLAYBOOKS / "plugins" / "modules").glob("*.py"))


@pytest.fixture(scope="module", name="built")
def built_fixture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The collection as a file."""
    folder = tmp_path_factory.mktemp("built")
    tool("ansible-galaxy", "collection", "build", PLAYBOOKS, "--output-path", folder, home=folder)
    (archive,) = folder.glob("landspeed-dtn-*.tar.gz")
    return archive


@pytest.fixture(scope="module", name="home")
def home_fixture(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which it is installed from the file."""
    home = tmp_path_factory.mktemp("home")
    words = ("collection", "install", built, "--collections-path", home / "collections", "--offline")
    tool("ansible-galaxy", *words, home=home)
    return home


def tool(name: str, *words: str | Path, home: Path, status: int = 0) -> str:
    """Output of a tool of Ansible's that knows nothing of this repository."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "LC_ALL": "C.UTF-8", "ANSIBLE_NOCOLOR": "1"}
    environment |= {"ANSIBLE_COLLECTIONS_PATH": str(home / "collections"), "ANSIBLE_HOME": str(home / "ansible")}
    command = [Path(sys.executable).parent / name, *words]
    done = subprocess.run(command, env=environment, cwd=home, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout if name == "ansible-doc" else done.stdout + done.stderr


def specs(role: str) -> dict[str, Any]:
    """Options of a role."""
    return cast(Any, YAML(typ="safe")).load(PLAYBOOKS / "roles" / role / "meta" / "argument_specs.yml")[
        "argument_specs"
    ]["main"]["options"]


def test_the_file_has_roles_modules_and_nothing_of_landspeeds_plays(built: Path) -> None:
    with tarfile.open(built) as archive:
        names = {member.name for member in archive if member.isfile() or member.issym()}
    at_the_top = {name for name in names if "/" not in name}
    assert at_the_top == {"CHANGELOG.md", "FILES.json", "MANIFEST.json", "README.md"}
    assert {name.split("/")[0] for name in names - at_the_top} == {"meta", "plugins", "roles"}
    assert f"plugins/modules/{MODULES[0]}.py" in names
    for play in PLAYS:
        assert f"{play}.yml" not in names
    for role in ROLES:
        assert {f"roles/{role}/{each}" for each in ("README.md", "tasks/main.yml", "meta/argument_specs.yml")} <= names


def test_each_module_tells_what_it_does(home: Path) -> None:
    shown = json.loads(tool("ansible-doc", "--json", *(f"landspeed.dtn.{name}" for name in MODULES), home=home))
    assert sorted(shown) == [f"landspeed.dtn.{name}" for name in MODULES]
    for name, about in shown.items():
        assert about["doc"]["short_description"] and about["examples"] and about["return"] is not None, name
        assert all(option["description"] for option in about["doc"]["options"].values()), name


def test_each_role_tells_its_options_and_its_readme_has_them_all(home: Path) -> None:
    names = [f"landspeed.dtn.{role}" for role in ROLES]
    shown = json.loads(tool("ansible-doc", "--json", "--type", "role", *names, home=home))
    assert sorted(shown) == names
    for role in ROLES:
        options = shown[f"landspeed.dtn.{role}"]["entry_points"]["main"]["options"]
        readme = (PLAYBOOKS / "roles" / role / "README.md").read_text()
        assert re.findall(r"^\| `(\w+)` \|", readme, re.MULTILINE) == [*specs(role)], role
        assert {*options} == {*specs(role)}
        assert f"landspeed.dtn.{role}" in readme or role == "restore"


@pytest.mark.parametrize("role", ROLES)
def test_a_default_that_an_option_has_is_in_the_role(role: str) -> None:
    """An option is required, or the role has a value of its own for it: each works alone."""
    file = PLAYBOOKS / "roles" / role / "defaults" / "main.yml"
    there = cast(Any, YAML(typ="safe")).load(file)
    for name, option in specs(role).items():
        assert option.get("required") or name in there, f"{role}: {name} has no default"
        assert option.get("required") is None or name not in there


@pytest.fixture(name="alone")
def alone_fixture(home: Path, tmp_path: Path) -> Iterator[Any]:
    """Runs a role of the installed collection, on a host that is this machine."""

    def call(role: str, status: int = 0, *words: str, **variables: Any) -> str:
        play = {"hosts": "localhost", "gather_facts": False, "roles": [{"role": f"landspeed.dtn.{role}"}]}
        (tmp_path / "play.yml").write_text(json.dumps([play]))
        variables |= {"ansible_python_interpreter": sys.executable, "ansible_remote_tmp": str(tmp_path / "remote")}
        base = ["-i", "localhost,", "-c", "local", "-e", json.dumps(variables), *words, tmp_path / "play.yml"]
        return tool("ansible-playbook", *base, home=home, status=status)

    yield call


@pytest.mark.parametrize("role", [role for role in ROLES if any(each.get("required") for each in specs(role).values())])
def test_a_role_without_what_it_needs_names_it(alone: Any, role: str) -> None:
    said = alone(role, 2)
    named = re.search(r"missing required arguments: (\w+)|'(\w+)' is undefined|has no attribute '(\w+)'", said)
    wanted = {name for name, option in specs(role).items() if option.get("required")} | {"landspeed_senders"}
    assert named and {*named.groups()} & wanted, said


def test_tune_without_a_path_says_what_is_wanted(alone: Any) -> None:
    assert "tune_peer, tune_rate_bps and tune_rtt_ms are wanted" in alone("tune", 2)
    assert "tune_rtt_ms" in alone("tune", 2, tune_rtt_ms="long")


@pytest.mark.root
def test_a_role_alone_finds_modules_and_other_roles_of_its_own_collection(alone: Any) -> None:
    """With no variable of landspeed's, in check mode; the peer's address is this host's own, and it says so."""
    said = alone("tune", 2, "--check", tune_peer="127.0.0.2", tune_rate_bps=10**10, tune_rtt_ms=88)
    assert "127.0.0.2, the peer's address, is this host's own" in said
    assert not Path("/var/lib/landspeed").exists()


RELEASES = {
    "ID=debian": "debian",
    "ID=ubuntu\nID_LIKE=debian": "ubuntu",
    "ID=linuxmint\nID_LIKE='ubuntu debian'": "ubuntu",
    'ID="rocky"\nID_LIKE="rhel centos fedora"': "rhel",
    'ID="almalinux"\nID_LIKE="rhel centos fedora"': "rhel",
    "ID=fedora": "fedora",
    'ID="opensuse-leap"\nID_LIKE="suse opensuse"': "opensuse",
    'ID="opensuse-tumbleweed"\nID_LIKE="opensuse suse"': "opensuse",
    'ID="sles"\nID_LIKE="suse"': "suse",
    "ID=arch": "other",
    "": "other",
}


def test_each_distribution_has_its_own_words(home: Path, tmp_path: Path) -> None:
    """As its os-release(5) has them; the file names its group for sudo and how it installs."""
    role = PLAYBOOKS / "roles" / "preflight"
    lookup = "lookup('ansible.builtin.first_found', {'files': preflight_families, 'paths': [folder]})"
    add: dict[str, Any] = {"set_fact": {"told": f"{{{{ told + [{lookup} | basename] }}}}"}, "loop": [*RELEASES]}
    add |= {"vars": {"preflight_distribution": {"stdout": "{{ item }}"}}}
    tell = {"copy": {"content": "{{ told | to_json }}", "dest": str(tmp_path / "told"), "mode": "0600"}}
    play = {"hosts": "localhost", "gather_facts": False, "tasks": [{"set_fact": {"told": []}}, add, tell]}
    (tmp_path / "play.yml").write_text(json.dumps([play | {"vars_files": [str(role / "defaults/main.yml")]}]))
    given = {"folder": str(role / "vars"), "ansible_python_interpreter": sys.executable}
    given |= {"ansible_remote_tmp": str(tmp_path / "remote")}
    words = ["-i", "localhost,", "-c", "local", "-e", json.dumps(given), tmp_path / "play.yml"]
    tool("ansible-playbook", *words, home=home)
    assert json.loads((tmp_path / "told").read_text()) == [f"{file}.yml" for file in RELEASES.values()]
    for file in (role / "vars").iterdir():
        assert {*cast(Any, YAML(typ="safe")).load(file)} == {"preflight_group", "preflight_install"}


MOST = ["iproute2", "ethtool", "nftables"]
EL = ["iproute", "iproute-tc", "ethtool", "nftables", "kernel-modules-extra"]
ETC = {  # manager, its packages → files of /etc that tell the distribution
    ("apt", *MOST): {"os-release": 'ID=debian\nNAME="Debian GNU/Linux"\n'},
    ("dnf", *EL): {
        "os-release": 'ID="rocky"\nNAME="Rocky Linux"\nVERSION_ID="9.4"\nID_LIKE="rhel centos fedora"\n',
        "redhat-release": "Rocky Linux release 9.4 (Blue Onyx)\n",
    },
    ("zypper", *MOST): {"os-release": 'ID="opensuse-leap"\nNAME="openSUSE Leap"\nVERSION_ID="15.6"\n'},
    ("pacman", *MOST): {"os-release": 'ID=arch\nNAME="Arch Linux"\n'},
}
MANAGER = """
from ansible.module_utils.basic import AnsibleModule
module = AnsibleModule({"name": {"type": "list"}, "state": {}}, supports_check_mode=True)
module.exit_json(asked=["%s", *module.params["name"]])
"""


@pytest.mark.root
def test_tune_asks_each_distributions_manager_for_its_packages(home: Path, tmp_path: Path) -> None:
    """By Ansible's own facts of a host with these files in /etc; its manager tells what it was asked for."""
    (tmp_path / "library").mkdir()
    hosts: dict[str, Any] = {}
    for (manager, *_), files in ETC.items():
        (tmp_path / "library" / f"{manager}.py").write_text(MANAGER % manager)
        (tmp_path / manager).mkdir()
        for name, text in files.items():
            (tmp_path / manager / name).write_text(text)
        python = tmp_path / f"python-{manager}"
        inside = f'mount -t overlay none -o lowerdir={tmp_path}/{manager}:/etc /etc; exec {sys.executable} "$@"'
        python.write_text(f"#!/bin/sh\nexec unshare --mount sh -ec '{inside}' sh \"$@\"\n")
        python.chmod(0o755)
        hosts[manager] = {"ansible_python_interpreter": str(python)}
    given = {"ansible_connection": "local", "ansible_remote_tmp": str(tmp_path / "remote")}
    (tmp_path / "hosts.json").write_text(json.dumps({"all": {"hosts": hosts, "vars": given}}))
    known = {"set_fact": {"pkg_mgr": "{{ inventory_hostname }}", "cacheable": True}}
    role = {"include_role": {"name": "landspeed.dtn.tune", "tasks_from": "install"}}
    (tmp_path / "play.yml").write_text(json.dumps([{"hosts": "all", "gather_facts": False, "tasks": [known, role]}]))
    said = tool("ansible-playbook", "-v", "-i", tmp_path / "hosts.json", tmp_path / "play.yml", home=home)
    asked = [tuple(json.loads(text)) for text in re.findall(r"\"asked\": (\[.*?\])", said)]
    assert sorted(asked) == sorted(ETC)
