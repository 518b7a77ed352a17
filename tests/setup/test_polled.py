"""The library before Open vSwitch's (emu/launch/polled.c) under ASan and UBSan: when it answers without a system call.

It is before Python's libc here: `select.poll`, `recv` and `os.read` come by it. That it answers by itself is seen where
something has come since the last poll. In the guest, tests/cli/test_mn.py has Open vSwitch with it.
"""

import os
import subprocess
import sys

import pytest

from tests.support import builds

BEGIN = """
import ctypes, errno, os, resource, select, socket
libc = ctypes.CDLL(None, use_errno=True)

def poll(*descriptors, wait_ms=1):
    asks = select.poll()
    for each in descriptors:
        asks.register(each, select.POLLIN)
    return [number for number, _ in asks.poll(wait_ms)]

def is_empty(read, *words):
    try:
        read(*words)
    except BlockingIOError:
        return True
    return False

def pair():
    near, far = socket.socketpair()
    near.setblocking(False)
    return near, far
near, far = pair()
other, other_far = pair()
"""
CASES = {
    "what poll found empty is empty until the next poll": """
assert poll(near, other) == []
far.sendall(b"12345678")
assert is_empty(near.recv, 4) and is_empty(near.recv, 4)
assert poll(near, other) == [near.fileno()]
assert near.recv(8) == b"12345678"
""",
    "what poll was not asked of is asked": """
assert poll(other, other_far) == []
far.sendall(b"1234")
assert near.recv(8) == b"1234"
""",
    "one call takes all that waits, and poll tells of the rest": """
far.sendall(b"headbodyheadbody")
assert poll(near) == [near.fileno()]
assert near.recv(4) == b"head"
assert poll(near, other, wait_ms=60_000) == [near.fileno()]
far.sendall(b"later")
assert near.recv(4) == b"body" and near.recv(100) == b"headbody" and near.recv(100) == b"later"
far.sendall(b"more")
assert is_empty(near.recv, 4) and poll(near) == [near.fileno()] and near.recv(100) == b"more"
""",
    "more than it keeps": """
far.sendall(bytes(50_000))
got = 0
while poll(near, wait_ms=1000):
    got += len(near.recv(7000))
assert got == 50_000
""",
    "its end": """
far.sendall(b"last")
far.close()
assert poll(near) and near.recv(2) == b"la" and near.recv(9) == b"st"
assert is_empty(near.recv, 9)
assert poll(near) and near.recv(9) == b"" == near.recv(9)
""",
    "a socket that blocks is waited for": """
import threading
near.setblocking(True)
assert poll(near, other) == []
threading.Timer(0.05, far.sendall, (b"after all",)).start()
assert near.recv(100) == b"after all"
""",
    "another one of the same number": """
far.sendall(b"12345678")
assert poll(near, other) == [near.fileno()] and near.recv(4) == b"1234"
number = near.fileno()
assert libc.close(number) == 0 and near.detach() == number
near, far = pair()
assert near.fileno() == number
far.sendall(b"new")
assert near.recv(8) == b"new"
""",
    "a server, and a pipe": """
server = socket.create_server(("127.0.0.1", 0))
server.setblocking(False)
reads, writes = os.pipe2(os.O_NONBLOCK)
assert poll(server, reads) == []
client = socket.create_connection(server.getsockname())
os.write(writes, b"1")
assert libc.accept(server.fileno(), None, None) == -1 and ctypes.get_errno() == errno.EAGAIN
assert is_empty(os.read, reads, 1)
assert poll(server, reads) == [server.fileno(), reads]
assert libc.accept(server.fileno(), None, None) > 0 and os.read(reads, 1) == b"1"
""",
    "netlink answers what it was asked": """
netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_NONBLOCK, socket.NETLINK_ROUTE)
netlink.bind((0, 0))
assert poll(netlink, other) == [] and is_empty(netlink.recvmsg, 65536)
ask = (20).to_bytes(4, "little") + b"\\x12\\0\\1\\3" + bytes(12)  # RTM_GETLINK, all
netlink.sendmsg([ask])
assert len(netlink.recvmsg(65536)[0]) > 20
""",
    "netlink's messages are all taken at once, and poll tells of the rest": """
class Part(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
class Message(ctypes.Structure):
    _fields_ = [("name", ctypes.c_void_p), ("name_size", ctypes.c_uint), ("parts", ctypes.POINTER(Part)),
                ("count", ctypes.c_size_t), ("beside", ctypes.c_void_p), ("beside_size", ctypes.c_size_t),
                ("flags", ctypes.c_int)]
def take(first, second):
    data = ctypes.create_string_buffer(first + second)
    parts = (Part * 2)(Part(ctypes.addressof(data), first), Part(ctypes.addressof(data) + first, second))
    message = Message(None, 0, parts, 2, None, 0, 0)
    got = libc.recvmsg(netlink.fileno(), ctypes.byref(message), socket.MSG_DONTWAIT)
    return (ctypes.get_errno(), 0) if got < 0 else (data.raw[8:12], bool(message.flags & socket.MSG_TRUNC))
netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
netlink.bind((0, 0))
for number in (b"one.", b"two.", b"tres"):  # RTM_GETLINK of the first interface
    netlink.sendmsg([(32).to_bytes(4, "little") + b"\\x12\\0\\1\\0" + number + bytes(8) + b"\\1" + bytes(11)])
assert poll(netlink, near, wait_ms=1000) == [netlink.fileno()] and take(20, 60_000) == (b"one.", False)
assert select.select([netlink], [], [], 0)[0] == []  # which does not come by the library: nothing waits
assert poll(netlink, near, wait_ms=60_000) == [netlink.fileno()] and take(20, 4) == (b"two.", True)
assert take(20, 60_000) == (b"tres", False) and take(20, 60_000) == (errno.EAGAIN, 0)
assert poll(netlink, near) == [] and take(20, 60_000) == (errno.EAGAIN, 0)
""",
    "a question aside leaves what poll has told of others": """
third, third_far = pair()
assert poll(near, other) == []
far.sendall(b"1")
assert [(poll(third), is_empty(near.recv, 1)) for _ in range(4)] == [([], True)] * 3 + [([], False)]
third_far.sendall(b"1")
assert poll(near, other) == [] and poll(third) == [third.fileno()] and third.recv(1) == b"1"
""",
    "who does not wait is told once that nothing has come": """
assert poll(near, other) == []
far.sendall(b"1")
assert [poll(near, other, wait_ms=0) for _ in range(3)] == [[], [near.fileno()], [near.fileno()]]
""",
    "who asks whether it is so still is told at last": """
assert poll(near, other) == []
far.sendall(b"1")
assert [bool(poll(near, wait_ms=0)) for _ in range(5)] == [False, False, False, True, True]
""",
    "processors and a thread's time": """
import time
assert os.sysconf("SC_NPROCESSORS_CONF") == os.sysconf("SC_NPROCESSORS_CONF") == os.cpu_count()
assert os.sysconf("SC_PAGE_SIZE") == resource.getpagesize()
once = resource.getrusage(resource.RUSAGE_THREAD)
while time.thread_time() < 0.1:
    pass
assert resource.getrusage(resource.RUSAGE_THREAD) == once != resource.getrusage(resource.RUSAGE_SELF)
""",
}


@pytest.fixture(scope="module", name="libraries")
def libraries_fixture() -> str:
    """The library with sanitizers, and that of GCC before it."""
    asan = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    return f"{asan.stdout.strip()} {builds.build_of('emu/launch', 'asan') / 'landspeed-polled.so'}"


@pytest.mark.parametrize("case", CASES)
def test_it_answers_what_poll_has_told(libraries: str, case: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + CASES[case]],
        env={**os.environ, "LD_PRELOAD": libraries, "ASAN_OPTIONS": "detect_leaks=0"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
