import sys

import pytest

import landspeed as ls


@pytest.mark.landspeed("transatlantic", "geo", seeds=range(2), samples="10 ms")
def test_a_download(path):
    server = path.receiver.popen([sys.executable, "-m", "http.server", "9000"], until=ls.listening(9000))
    done = path.sender.run(["curl", "-sf", "-o", "/dev/null", "http://b:9000/README.md"], timeout="60 s")
    assert done.returncode == 0
    assert path.elapsed_s < 5
    assert path.bound_by(server).kind != "application window"
