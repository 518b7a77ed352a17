"""The command `landspeed` for a shell's scripts, forked by a server of this worker as for other tests.

A script starts programs/ask_for_landspeed.py in its place, which asks a thread of this process.
"""

import contextlib
import json
import os
import select
import shlex
import signal
import socket
import sys
import threading
from collections.abc import Generator
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.command_process import PACKET, USED_S, Server, packages_of

ASKS = Path(__file__).parent / "programs" / "ask_for_landspeed.py"


@contextlib.contextmanager
def command_for_shells(server: Server) -> Generator[str]:
    """What a script is to have in the place of `landspeed`, until the end of the block."""
    with TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        place = f"{folder}/socket"
        listening.bind(place)
        listening.listen()
        thread = threading.Thread(target=_answer_all, args=(listening, server))
        thread.start()
        try:
            yield shlex.join([sys.executable, "-I", "-S", str(ASKS), place])
        finally:
            listening.shutdown(socket.SHUT_RD)
            thread.join()


def _answer_all(listening: socket.socket, server: Server) -> None:
    with contextlib.suppress(OSError):  # it is shut down
        while True:
            asked, _ = listening.accept()
            threading.Thread(target=_answer, args=(asked, server)).start()


def _answer(asked: socket.socket, server: Server) -> None:
    """Tell who asks the id of its process, then its status; 0: it must become a new one itself."""
    with asked, contextlib.ExitStack() as opened:
        who, files, _, _ = socket.recv_fds(asked, PACKET, 3)
        own = Path("/proc", who.decode())
        files.append(os.open(own / "cwd", os.O_RDONLY | os.O_DIRECTORY))
        for file in files:
            opened.callback(os.close, file)
        lines = os.fsdecode((own / "environ").read_bytes()).split("\0")[:-1]
        variables = {name: value for name, _, value in (line.partition("=") for line in lines)}
        if not server.serves(variables, int(who)):
            asked.send(b"0")
            return
        words = os.fsdecode((own / "cmdline").read_bytes()).split("\0")[5:-1]
        job = {"words": words, "variables": variables, "packages": packages_of(variables), "session": False}
        process, answers = server.fork(job, files)
        asked.send(str(process).encode())
        with answers:
            if asked in select.select([asked, answers], [], [])[0]:  # it was ended, and this with it
                os.kill(process, signal.SIGKILL)
            status, used_s = json.loads(answers.recv(PACKET))
        USED_S.append(used_s)
        with contextlib.suppress(BrokenPipeError):
            asked.send(str(status).encode())
