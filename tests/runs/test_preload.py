"""Nobody imports what a thread is importing: landspeed/runs/preload.py."""

import threading

import pytest

from landspeed.runs import preload as ahead


def held(monkeypatch: pytest.MonkeyPatch) -> tuple[ahead.Imports, threading.Event, threading.Event]:
    """Imports that have begun and go on until the second event."""
    begun, go = threading.Event(), threading.Event()

    def slow(name: str, package: str | None = None) -> object:
        begun.set()
        go.wait(60)
        raise ImportError(f"{name} {package}")

    monkeypatch.setattr(ahead, "import_module", slow)
    imports = ahead.Imports()
    imports.begin()
    assert begun.wait(60)
    return imports, begun, go


@pytest.mark.parametrize("how", ["wait", "alone"])
def test_another_thread_goes_on_when_they_have_ended(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    imports, _, go = held(monkeypatch)
    order = list[str]()

    def other() -> None:
        if how == "wait":
            imports.wait()
        else:
            with imports.alone():
                pass
        order.append("other")

    thread = threading.Thread(target=other)
    thread.start()
    thread.join(0.05)  # long enough for a thread that waits for nothing
    assert order == []
    go.set()
    thread.join(60)
    assert order == ["other"]


def test_nobody_waits_for_what_has_not_begun() -> None:
    ahead.Imports().wait()


def test_they_begin_once(monkeypatch: pytest.MonkeyPatch) -> None:
    imports, begun, go = held(monkeypatch)
    go.set()
    imports.wait()
    begun.clear()
    imports.begin()
    imports.wait()
    assert not begun.is_set()


def test_ctrl_c_while_they_begin_leaves_nothing_to_wait_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the run that ends would say that a thread cannot be joined, and not that it was interrupted."""

    def interrupted(_: threading.Thread) -> None:
        raise KeyboardInterrupt

    imports = ahead.Imports()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            imports.begin()
    imports.wait()
