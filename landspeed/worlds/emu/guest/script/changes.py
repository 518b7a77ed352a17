"""Changes of Mininet for a script in virtual time: links without bandwidth, screens, and what is told of the net.

A link of Mininet without bandwidth and delay is as fast as the machine, which in virtual time is infinitely fast. Here
it has a line, at both ends. Its queue discipline has the handle fffe:, and gives way to one of the script's
(programs/tc).
"""

from __future__ import annotations

import fcntl
import functools
import json
import os
import socket
import struct
import sys
import time
from typing import Any

from landspeed.worlds.emu.guest.files import OUT
from landspeed.worlds.emu.guest.network.netlink import IFF_UP, PARENT_ROOT, Netlink
from landspeed.worlds.emu.guest.script import beside
from landspeed.worlds.emu.guest.script.describe import end_watching, tell_of
from landspeed.worlds.emu.guest.shaping.encode_qdisc import options_of

LINE_HANDLE = 0xFFFE0000
LINE_DELAY_NS = 8_000  # a long cable; tc(8) shows multiples of 64 ns only
LINE_PACKETS = 1000  # as of the queue of a card (txqueuelen)
TC_PARAMETERS = ("bw", "delay", "jitter", "loss", "max_queue_size", "latency_ms")
SIOCGIFFLAGS, SIOCSIFFLAGS = 0x8913, 0x8914
LISTENS_S = 1.0  # within which a controller listens, or does not at all
# In which switches connect to their controllers: on a machine they have done so before the next command has begun.
CONNECTS_S = 0.1
# Open vSwitch tells only each 5 s whether a controller is connected. Mininet asks by two programs a switch.
TOLD_EACH_S, MININET_ASKS_EACH_S = 5.0, 0.5
SAME_S = 0.1  # within which its answer of all switches is the same
ASK_OPEN_VSWITCH = (
    "ovs-vsctl -f json --columns=name,controller list Bridge -- --columns=_uuid,is_connected list Controller"
)
# In which a program in the background (`h1.cmd("python3 -m http.server &")`) begins, before the next command does: it
# computes in no time, but each file that Python looks for in vain takes 1 µs.
BEGINS_S, OPENS_S = 0.02, 0.002  # of `popen`, which scripts call many times a second to look at something
CPU_TIME = bool(os.environ.get("LANDSPEED_CPU_TIME"))  # computing takes virtual time
NO_LIMIT = (
    "*** {what}: the guest has one processor" + ("" if CPU_TIME else ", and computing takes no virtual time") + "\n"
)
NO_SCREEN = "*** {what}: refused: the guest has no screen; run commands with node.cmd(...) instead\n"


class _NodeNamespace:
    """The network namespace of one of Mininet's nodes, which its shell is in."""

    def __init__(self, node: Any) -> None:
        self._node = node

    def inside(self) -> Any:
        """Context in which sockets belong to it."""
        return beside.inside_node(self._node)


def change_link(module: Any) -> None:
    """Give each link without parameters of a queue discipline a line; begin no programs for what needs none.

    Mininet begins one to switch each interface on, and one to delete each: a link's second end goes with the first.
    """
    made = module.Link.__init__

    @functools.wraps(made)
    def make(self: Any, *words: Any, **named: Any) -> None:
        made(self, *words, **named)
        for interface in (self.intf1, self.intf2):
            _give_line(interface)

    deletes = module.Intf.delete

    @functools.wraps(deletes)
    def delete(self: Any) -> None:
        if _is_there(self):
            deletes(self)
        else:
            self.node.delIntf(self)
            self.link = None

    configures = module.Intf.ifconfig

    @functools.wraps(configures)
    def ifconfig(self: Any, *words: str) -> str:
        return "" if words == ("up",) and _switch_on(self) else configures(self, *words)

    module.Link.__init__, module.Intf.delete, module.Intf.ifconfig = make, delete, ifconfig


def _switch_on(interface: Any) -> bool:
    """Do it, and return whether it could be done; what is wrong is for ifconfig to tell."""
    try:
        with beside.inside_node(interface.node), socket.socket() as any_kind:
            name = interface.name.encode()
            request = struct.pack("16sH14x", name, 0)
            flags = struct.unpack("16sH14x", fcntl.ioctl(any_kind, SIOCGIFFLAGS, request))[1]
            fcntl.ioctl(any_kind, SIOCSIFFLAGS, struct.pack("16sH14x", name, flags | IFF_UP))
    except OSError:
        return False
    return True


def _is_there(interface: Any) -> bool:
    """Tell whether its node has it; True where the node's shell has ended, of which Mininet tells."""
    try:
        with beside.inside_node(interface.node):
            try:
                socket.if_nametoindex(interface.name)
            except OSError:
                return False
            return True
    except OSError:
        return True


def _give_line(interface: Any) -> None:
    rate_bps = int(os.environ.get("LANDSPEED_LINE", "0"))
    if not rate_bps or any(interface.params.get(name) is not None for name in TC_PARAMETERS):
        return
    node = _NodeNamespace(interface.node)
    netlink = Netlink(node)  # pyright: ignore[reportArgumentType]
    try:
        with node.inside():
            index = socket.if_nametoindex(interface.name)
        rate = {"rate_bytes_per_s": rate_bps // 8, "overhead_bytes": 0, "seed": 0}
        options = options_of("netem", limit_packets=LINE_PACKETS, delay_ns=LINE_DELAY_NS, **rate)
        netlink.add_qdisc("netem", index, LINE_HANDLE, PARENT_ROOT, options)
        open(f"{OUT}/line", "w").close()  # noqa: PTH123 (so that the host tells of it)
    except OSError:  # a patch port of Open vSwitch is no interface; one that has a queue discipline keeps it
        pass
    finally:
        netlink.close()


def change_term(module: Any) -> None:
    """Refuse terminals and X11, with the reason."""

    def refuse(*_: Any, **__: Any) -> list[Any]:
        sys.stderr.write(NO_SCREEN.format(what="xterm"))
        return []

    module.makeTerm = module.runX11 = refuse


def change_cli(module: Any) -> None:
    """Read commands from a file or a pipe, whole: Mininet gives what follows a node's command to this command.

    And let `source` of a file that is not there be no end of the prompt.
    """
    waits = module.CLI.waitForNode

    @functools.wraps(waits)
    def wait_for_node(self: Any, node: Any) -> None:
        if self.isatty():
            waits(self, node)
            return
        while node.waiting:
            try:
                module.output(node.monitor())
            except KeyboardInterrupt:  # is for the command
                node.sendInt()
        _let_begin(node)

    sources = module.CLI.do_source

    @functools.wraps(sources)
    def do_source(self: Any, line: str) -> None:
        try:
            sources(self, line)
        except AttributeError:  # it closes a file that it could not open, of which it has told
            if self.inputFile is not None:
                raise

    module.CLI.waitForNode, module.CLI.do_source = wait_for_node, do_source


def _let_begin(node: Any) -> None:
    if (node.lastCmd or "").rstrip().endswith("&"):
        time.sleep(BEGINS_S)


def change_node(module: Any) -> None:
    """Let CPULimitedHost be without cpusets, and tell who asks for cores; let programs start before they are needed.

    Mininet starts a controller in the background. While that takes no time, switches ask in vain, and again only after
    a second. For a node's shell, `mnexec -c` closes all of 16384 descriptors that a program may have, in 0.14 s: Python
    closes those that there are.
    """
    started = module.Controller.start

    @functools.wraps(started)
    def start(self: Any) -> None:
        started(self)
        ends = time.monotonic() + LISTENS_S
        while f":{self.port:04X} 00000000:0000 0A" not in _tcp_sockets(self) and time.monotonic() < ends:
            time.sleep(0.001)

    module.Controller.start = start
    starts = module.Node._popen

    @functools.wraps(starts)
    def start_program(self: Any, words: Any, **named: Any) -> Any:
        match list(words):
            case ["mnexec", flags, *rest] if flags[:2] == "-c" and flags[2:]:
                named["close_fds"], words = True, ["mnexec", "-" + flags[2:], *rest]
            case _:
                pass
        return starts(self, words, **named)

    module.Node._popen = start_program
    waits = module.Node.waitOutput

    @functools.wraps(waits)
    def wait_output(self: Any, *words: Any, **named: Any) -> str:
        said = waits(self, *words, **named)
        _let_begin(self)
        return said

    _change_open_vswitch(module.OVSSwitch)
    opened = module.Node.popen

    @functools.wraps(opened)
    def popen(self: Any, *words: Any, **named: Any) -> Any:
        program = opened(self, *words, **named)
        time.sleep(OPENS_S)
        return program

    module.Node.waitOutput, module.Node.popen = wait_output, popen

    def tell_of_cores(_: Any, cores: Any, **__: Any) -> None:
        if cores is not None:
            module.error(NO_LIMIT.format(what=f"cores={cores} has no effect"))

    module.CPULimitedHost.setCPUs = tell_of_cores


def _change_open_vswitch(switch: Any) -> None:
    """Give its ports their lines again: it takes every queue discipline from an interface that becomes a port.

    And ask once whether they are connected: Mininet begins two programs for each switch.
    """
    reapplies, starts = switch.TCReapply, switch.batchStartup.__func__
    told: dict[str, bool] = {}
    told_at = -SAME_S

    def connected(self: Any) -> bool:
        nonlocal told_at
        if time.monotonic() >= told_at + SAME_S or self.name not in told:
            told.clear()
            told.update(connected_bridges(self.cmd(ASK_OPEN_VSWITCH)))
            told_at = time.monotonic()
        return told.get(self.name, False) or self.failMode == "standalone"

    switch.connected = connected

    def reapply(interface: Any) -> None:
        reapplies(interface)
        if interface.link:
            _give_line(interface)

    def start_all(cls: Any, switches: Any, *words: Any, **named: Any) -> Any:
        started = starts(cls, switches, *words, **named)
        for interface in (each for one in switches for each in one.intfs.values() if each.link):
            _give_line(interface)
        return started

    switch.TCReapply, switch.batchStartup = staticmethod(reapply), classmethod(start_all)


def connected_bridges(told: str) -> dict[str, bool]:
    """Tell whether each bridge is connected to one of its controllers, of what `ASK_OPEN_VSWITCH` prints."""
    tables = [json.loads(line)["data"] for line in told.splitlines() if line.startswith("{")]
    if len(tables) != 2:  # it has told what is wrong
        return {}
    connected = {uuid for (_, uuid), is_connected in tables[1] if is_connected}
    bridges = {name: value[1] if value[0] == "set" else [value] for name, value in tables[0]}
    return {name: any(uuid in connected for _, uuid in those) for name, those in bridges.items()}


def _tcp_sockets(node: Any) -> str:
    with open(f"/proc/{node.pid}/net/tcp") as told:  # noqa: PTH123
        return told.read()


def change_nodelib(module: Any) -> None:
    """Give NAT the file that it adds a line to, which not every distribution has any more."""
    configured = module.NAT.config

    @functools.wraps(configured)
    def config(self: Any, **named: Any) -> Any:
        os.makedirs("/etc/network", exist_ok=True)  # noqa: PTH103
        open("/etc/network/interfaces", "a").close()  # noqa: PTH123
        return configured(self, **named)

    module.NAT.config = config


def change_net(module: Any) -> None:
    """Tell of each net that was started, let `iperf` return, and refuse programs that compute for ever."""
    started = module.Mininet.start

    @functools.wraps(started)
    def start(self: Any, *words: Any, **named: Any) -> Any:
        result = started(self, *words, **named)
        if self.controllers and any(hasattr(switch, "connected") for switch in self.switches):
            time.sleep(CONNECTS_S)
        tell_of(self)
        return result

    def delete_before(link: Any, words: str) -> None:
        """Delete bridges before the first link: Open vSwitch looks at all that it has each time that a link goes."""
        stops = link.stop

        def stop_link() -> None:
            module.quietRun(words)
            stops()

        link.stop = stop_link

    waits = module.Mininet.waitConnected

    @functools.wraps(waits)
    def wait_connected(self: Any, timeout: Any = None, delay: float | None = None) -> Any:
        if delay is None:
            by_open_vswitch = timeout is None and all(hasattr(switch, "controllerUUIDs") for switch in self.switches)
            delay = TOLD_EACH_S if by_open_vswitch else MININET_ASKS_EACH_S
        return waits(self, timeout, delay)

    module.Mininet.waitConnected = wait_connected

    def refuse(*_: Any, **__: Any) -> None:
        raise NotImplementedError(NO_LIMIT.format(what="runCpuLimitTest: refused").strip("* \n"))

    stopped = module.Mininet.stop

    @functools.wraps(stopped)
    def stop(self: Any) -> None:
        end_watching(self)
        bridges = [str(switch) for switch in self.switches if hasattr(switch, "controllerUUIDs")]
        if bridges and self.links:
            delete_before(self.links[0], "ovs-vsctl " + " -- ".join(f"--if-exists del-br {each}" for each in bridges))
        stopped(self)

    module.Mininet.start, module.Mininet.stop = start, stop
    if not CPU_TIME:
        module.Mininet.runCpuLimitTest = refuse
    if not hasattr(module.Mininet, "_iperfVals"):  # Mininet 2.3.1 counts no lines any more
        module.Mininet.iperf = functools.partialmethod(_iperf, module)


def _iperf(  # noqa: PLR0917 (Mininet's arguments)
    self: Any,
    module: Any,
    hosts: Any = None,
    l4Type: str = "TCP",  # noqa: N803
    udpBw: str = "10M",  # noqa: N803
    fmt: str | None = None,
    seconds: float = 5,
    port: int = 5001,
) -> list[str]:
    """Do as Mininet's `iperf`, which never returns with iperf from 2.1 on.

    Of TCP it waits for two lines of the server: of its own probe, a telnet that says nothing, and of the transfer.
    iperf 2.0 told of the first one too; 2.1 does not.
    """
    client, server = hosts or [self.hosts[0], self.hosts[-1]]
    module.output("*** Iperf: testing", l4Type, "bandwidth between", client, "and", server, "\n")
    server.cmd("killall -9 iperf")
    words = f"iperf -p {port} " + ("-u " if l4Type == "UDP" else "") + (f"-f {fmt} " if fmt else "")
    server.sendCmd(words + "-s")
    if l4Type == "TCP" and not module.waitListening(client, server.IP(), port):
        raise OSError(f"Could not connect to iperf on port {port}")
    rate = f" -b {udpBw}" if l4Type == "UDP" else ""
    told = client.cmd(f"{words}-t {seconds:g} -c {server.IP()}{rate}")
    said = ""
    while "/sec" not in said:
        said += server.monitor(timeoutms=5000)
    server.sendInt()
    said += server.waitOutput()
    result = [*([udpBw] if l4Type == "UDP" else []), self._parseIperf(said), self._parseIperf(told)]
    module.output(f"*** Results: {result}\n")
    return result
