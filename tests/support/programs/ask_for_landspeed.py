"""In the place of the command `landspeed` for a shell: asks the tests for the process, and ends as it does.

    python -I -S ask_for_landspeed.py SOCKET [WORD…]

tests/support/command_in_shells.py answers. Only what Python has in itself is imported: it takes a hundredth of a second
then, where the command takes a third.
"""

import _signal  # pyright: ignore[reportMissingImports]
import _socket
import os
import sys

PACKET = 1 << 20
PASSED_ON = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP)


def main() -> None:
    """Ask, pass signals on, and end with the same status; be the command itself where a fork would differ."""
    asked = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    asked.connect(sys.argv[1])
    files = b"".join(each.to_bytes(4, sys.byteorder) for each in range(3))
    asked.sendmsg([str(os.getpid()).encode()], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, files)])
    if not (process := int(asked.recv(PACKET))):
        command = f"{sys.executable.rpartition('/')[0]}/landspeed"
        os.execv(command, [command, *sys.argv[2:]])
    for each in PASSED_ON:
        if _signal.getsignal(each) != _signal.SIG_IGN:
            _signal.signal(each, lambda number, _: os.kill(process, number))
    status = int(asked.recv(PACKET))
    if os.WIFSIGNALED(status):
        _signal.signal(os.WTERMSIG(status), _signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.waitstatus_to_exitcode(status))


main()
