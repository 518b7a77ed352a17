"""Shared by tests: what test_modules and others use."""

from pathlib import Path
from typing import Any

RINGS = """Ring parameters for eth7:
Pre-set maximums:
RX:			8192
RX Mini:		n/a
TX:			4096
Current hardware settings:
RX:			512
RX Mini:		n/a
TX:			4096
"""


# As chronyc(1) tells it for programs: the clock is 0.2 ms off, the root's delay 8 ms, its dispersion 1.8 ms.
CHRONY = "C0000201,192.0.2.1,3,1790000000.1,-0.000200000,-0.0001,0.0002,-18.3,0.001,0.02,0.008,0.0018,64.2,Normal\n"


class Host:
    """A host's /sys and /proc in a folder, and what its commands say."""

    def __init__(self, folder: Path) -> None:
        """One NIC of 10 Gbit/s, eth7, at the second of two NUMA nodes."""
        self.folder = folder
        self.said = {
            "ip -o route get": "192.0.2.2 dev eth7 src 192.0.2.1 uid 0",
            "/sbin/ldconfig -p": "libcjson.so.1 (libc6,x86-64) => /lib/libcjson.so.1",
            "ethtool -g eth7": RINGS,
            "chronyc -c -n tracking": CHRONY,
            "ethtool -a": "Pause parameters for eth7:\nAutonegotiate:\toff\nRX:\t\ton\nTX:\t\toff\n",
            "systemctl show": "ActiveState=active\n",
        }
        nic = "sys/class/net/eth7"
        for name, text in {
            f"{nic}/operstate": "up",
            f"{nic}/speed": "10000",
            f"{nic}/mtu": "9000",
            f"{nic}/device/numa_node": "1",
            f"{nic}/device/current_link_width": "8",
            f"{nic}/device/current_link_speed": "8.0 GT/s PCIe",
            f"{nic}/statistics/rx_crc_errors": "7",
            f"{nic}/statistics/tx_errors": "0",
            "sys/devices/system/node/node1/cpulist": "8-15,40",
            "sys/devices/system/cpu/cpu8/cpufreq/scaling_governor": "powersave",
            "proc/meminfo": "MemTotal: 64000000 kB\nMemAvailable:   32000000 kB",
            "proc/sys/net/ipv4/tcp_available_congestion_control": "reno cubic",
            "proc/sys/net/ipv4/tcp_allowed_congestion_control": "reno",
            "proc/sys/net/core/netdev_max_backlog": "1000",
            "proc/sys/net/ipv4/tcp_sack": "0",
            "etc/os-release": 'NAME="Debian GNU/Linux"\nID=debian',
        }.items():
            self.write(name, text)
        for queue in ("rx-0", "rx-1", "tx-0"):
            (folder / nic / "queues" / queue).mkdir(parents=True)
        for irq in ("41", "107"):
            (folder / nic / "device" / "msi_irqs" / irq).mkdir(parents=True)
        (folder / "sys/bus/drivers/mlx5_core").mkdir(parents=True)
        (folder / nic / "device/driver").symlink_to(folder / "sys/bus/drivers/mlx5_core")

    def write(self, name: str, text: str) -> None:
        """A file."""
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text + "\n")

    def path(self, *parts: Any) -> Path:
        """Where a path of the host is here."""
        path = Path(*parts)
        return path if path.is_relative_to(self.folder) else self.folder / str(path).lstrip("/")

    def run(self, *words: str) -> str:
        """What a command says."""
        return next(text for command, text in self.said.items() if " ".join(words).startswith(command))
