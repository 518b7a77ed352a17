"""No link that a sender has made leads out of the receiver's directory, alone or together with others."""

import itertools
import os
import random
from pathlib import Path

import pytest

from tests.support.engine.fixtures import Bench
from tests.support.engine.hostile import DATA, DIRECTORY, LINK, entry, listed, record, visit


@pytest.mark.parametrize(
    ("target", "made"),
    [("f", True), ("d/../f", False), (".//f", True), ("..", False), ("d/../../x", False), ("/etc", False)],
)
def test_which_links_lead_out(bench: Bench, place: Path, target: str, made: bool) -> None:
    answer = visit(bench, listed(entry(b"link", kind=LINK, target=target.encode())))
    assert answer.get("complete") is made, answer
    assert (place / "target" / "link").is_symlink() is made


def test_links_do_not_lead_out_together(bench: Bench, place: Path) -> None:
    """Each goes up no further than it lies deep; the second one goes up from where the first one leads."""
    answer = visit(
        bench,
        listed(
            entry(b"d", kind=DIRECTORY, mode=0o755),
            entry(b"d/e", kind=DIRECTORY, mode=0o755),
            entry(b"d/e/up", kind=LINK, target=b"../.."),
            entry(b"m", kind=LINK, target=b"d/e/up/.."),
        ),
    )
    rows = {row["path"]: row for row in answer["files"]["outcomes"]}
    assert rows["d/e/up"]["outcome"] == "done"
    assert "leads out of the directory" in rows["m"]["error"]
    assert not (place / "target" / "m").is_symlink()


def test_no_link_leads_out_by_way_of_one_that_was_there(bench: Bench, place: Path) -> None:
    """What the owner planted is the owner's; nobody else gets a link through it, nor a file's mode."""
    target = place / "target"
    (target / "planted").symlink_to("../outside")
    (target / "d").mkdir()
    links = {
        "straight": "planted",
        "below": "planted/secret",
        "d/up": "../planted/secret",
        "new": "planted/not-there",
        "later": "d/up",  # the list's own, which was not made
        "d/fine": "../d",
    }
    answer = visit(bench, listed(*(entry(name.encode(), kind=LINK, target=to.encode()) for name, to in links.items())))
    rows = {row["path"]: row for row in answer["files"]["outcomes"]}
    out = {name for name, row in rows.items() if "leads out of the directory" in (row["error"] or "")}
    assert out == {"straight", "below", "d/up", "new"}
    assert rows["later"]["outcome"] == rows["d/fine"]["outcome"] == "done"


def leads_out(root: Path, link: Path) -> bool:
    """Whether the way from `link` leaves `root`, walked as the kernel does (realpath goes astray in loops)."""
    where, ahead = link.parent, [link.name]
    for _ in range(10_000):  # a loop stays inside
        if not ahead:
            return False
        name = ahead.pop(0)
        if name == "..":
            if where == root:
                return True
            where = where.parent
        elif (where / name).is_symlink():
            target = str((where / name).readlink())
            if target.startswith("/"):
                return True
            ahead = target.split("/") + ahead
        elif name not in ("", "."):
            where /= name
    return False


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_no_tree_of_links_leads_out(bench: Bench, place: Path, seed: int) -> None:
    """Whatever a sender makes up: each link that is there in the end resolves to a place below the directory."""
    chance = random.Random(seed)
    folders = [b"/".join(names) for depth in (1, 2, 3) for names in itertools.product((b"a", b"b"), repeat=depth)]
    words = [b"..", b"..", b"a", b"b", b".", b"", b"l0", b"l1"]
    links = []
    for number in range(600):
        where = chance.choice([b"", *(folder + b"/" for folder in folders)])
        up = [b".."] * chance.randrange(where.count(b"/") + 1)
        target = b"/".join(up + chance.choices(words, k=chance.randrange(4)))
        links.append(entry(where + b"l%d" % (number % 2), kind=LINK, target=target or b"."))
    answer = visit(bench, listed(*(entry(folder, kind=DIRECTORY, mode=0o755) for folder in folders), *links))
    root = (place / "target").resolve()
    made = [path for path in root.rglob("*") if path.is_symlink()]
    assert len(made) > 10, answer
    for link in made:
        assert not leads_out(root, link), (link, link.readlink())


def test_a_second_name_of_a_file_elsewhere_keeps_its_mode(bench: Bench, place: Path) -> None:
    """A hard link to a file outside, with the size and mtime that the sender names."""
    secret = place / "outside" / "secret"
    secret.chmod(0o600)
    (place / "target" / "file").hardlink_to(secret)
    os.utime(secret, ns=(0, 10**18))
    size = secret.stat().st_size
    answer = visit(bench, listed(entry(b"file", size, mode=0o777)), record(DATA, 0, b"x" * size))
    assert answer["complete"] is True, answer
    assert secret.stat().st_mode & 0o777 == 0o600
    assert (place / "target" / "file").read_text() == "x" * size
    assert (place / "target" / "file").stat().st_mode & 0o777 == 0o777
