"""A script of `tc` for two real machines: the path as one line there and one back."""

from __future__ import annotations

from landspeed.base.version import __version__
from landspeed.exporters.exporter import Exported, Exporter, ExportError
from landspeed.exporters.stock_qdiscs import left_out, whole_path
from landspeed.scenario.theory.timing import path_mtu

USAGE = """\
set -eu
usage="usage: $0 sender|receiver DEV, on either machine as root; $0 remove DEV puts the device back"
end="${1:?$usage}" dev="${2:?$usage}"
state="/run/landspeed-$dev" # the device's offloads and MTU as they were

offloads_off() {
\t[ -e "$state" ] || { ethtool -k "$dev" | grep -E '^(tcp-seg|generic-seg|generic-rec)'; \\
\t\tip -o link show dev "$dev" | sed -n 's/.* mtu \\([0-9]*\\) .*/\\1/p'; } > "$state"
\t# A super-packet would be delayed, lost and queued as one: segments are made before the qdiscs.
\tethtool -K "$dev" tso off gso off gro off
}

put_back() {
\ttc qdisc del dev "$dev" root 2>/dev/null || true
\t[ -e "$state" ] || return 0
\twhile read -r name value _; do
\t\tcase "$name" in
\t\ttcp-segmentation-offload:) ethtool -K "$dev" tso "$value" ;;
\t\tgeneric-segmentation-offload:) ethtool -K "$dev" gso "$value" ;;
\t\tgeneric-receive-offload:) ethtool -K "$dev" gro "$value" ;;
\t\t*) ip link set "$dev" mtu "$name" ;;
\t\tesac
\tdone < "$state"
\trm -f "$state"
}
"""


def _write(exported: Exported) -> dict[str, str | bytes]:
    plan = exported.plan
    if not plan.is_path:
        raise ExportError(
            f"{exported.name}: a network of {len(plan.flows)} flows does not fit on two machines; "
            "`landspeed export mininet` or `containerlab` has all its nodes"
        )
    there, back = whole_path(plan)
    told = [f"# Left out: {each}." for each in left_out(plan)]
    lines = [
        "#!/bin/sh",
        f"# {plan.title or exported.name}: made by landspeed {__version__} from {plan.scenario_file}.",
        f"# Its {len(plan.links)} links as one line each way: what {plan.nodes[0].name} sends is shaped",
        f"# at the sender's interface, what {plan.nodes[-1].name} answers at the receiver's.",
        f"# Round trip {_rtt_ms(exported):g} ms: a window has to hold {plan.physics.bdp_bytes} bytes",
        "# (net.ipv4.tcp_rmem, net.ipv4.tcp_wmem).",
        *told,
        USAGE,
        'case "$end" in',
        *_case("sender", there, path_mtu(plan)),
        *_case("receiver", back, path_mtu(plan)),
        "remove)",
        "\tput_back",
        "\t;;",
        "*)",
        '\techo "$usage" >&2',
        "\texit 2",
        "\t;;",
        "esac",
    ]
    return {".sh": "\n".join(lines) + "\n"}


def _case(end: str, qdiscs: list[str], mtu: int) -> list[str]:
    added = [f'\ttc qdisc add dev "$dev" {line}' for line in qdiscs]
    return [f"{end})", "\tput_back", "\toffloads_off", f'\tip link set "$dev" mtu {mtu}', *added, "\t;;"]


def _rtt_ms(exported: Exported) -> float:
    links = exported.plan.links
    return sum(each.forward.delay_ns + each.reverse.delay_ns for each in links) / 1e6


EXPORTER = Exporter(
    "tc", "a script of tc for two real machines: the whole path at their interfaces", "plan", _write, "sudo sh FILE"
)
