"""The command lines of the C transfer engine, built from a plan's transfer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from landspeed.base.places import ROOT
from landspeed.scenario.theory.datagrams import payload_bytes, payload_rate_bps

if TYPE_CHECKING:
    from landspeed.scenario.plan.plan import Transfer

ENGINE_PORT = 5201
"""Control port; the data connections go to a port that the receiver announces."""

KEY_FILE = "{key}"
"""Stands for the file of a pre-shared key, which the world that runs the commands makes."""

ENGINE_BINARY = ROOT / "engine" / "build" / "landspeed-engine"
"""Where `meson setup engine/build engine && ninja -C engine/build` puts the engine."""

OWN_STALL_NS = 30 * 10**9
"""How long the engine waits if it is not told (engine/src/options/options.c)."""

_NS_PER_S = 10**9


def seconds_text(ns: int) -> str:
    """Nanoseconds as seconds in exact decimal notation: 100_000_000 becomes '0.1'."""
    whole, part = divmod(ns, _NS_PER_S)
    return f"{whole}.{part:09d}".rstrip("0").rstrip(".")


def receive_command(
    interval_ns: int,
    *,
    samples: str | None = None,
    json: str | None = None,
    bind: str | None = None,
    port: int = ENGINE_PORT,
    stall_ns: int | None = None,
    key: str | None = None,
    one_off: bool = True,
    binary: str | Path = ENGINE_BINARY,
) -> list[str]:
    """Command line of the receiver.

    Args:
        interval_ns: time between samples.
        samples, json: paths as the receiver sees them, or None.
        bind: address to listen on; None: all of them.
        port: TCP port.
        stall_ns: give up when nothing has moved for so long, or a stream does not come; None: the engine's own 30 s.
        key: file of the pre-shared key, or None.
    """
    words = [str(binary), "receive", "--port", str(port), "--quiet", "--interval", f"{interval_ns}ns"]
    words += ["--bind", bind] if bind else []
    words += ["--one-off"] if one_off else []
    words += ["--key", key] if key else []
    words += _waits(stall_ns, "--idle-timeout")
    words += ["--samples", samples] if samples else []
    words += ["--json", json] if json else []
    return words


def send_command(
    transfer: Transfer,
    host: str,
    *,
    samples: str | None = None,
    live: str | None = None,
    json: str | None = None,
    port: int = ENGINE_PORT,
    binary: str | Path = ENGINE_BINARY,
) -> list[str]:
    """Command line of the sender.

    Args:
        transfer: what is sent and how.
        host: address of the receiver.
        samples, live, json: paths as the sender sees them, or None.
        port: on which the receiver listens.

    Raises:
        ValueError: the transfer has neither a time nor a byte limit.
    """
    if transfer.bytes is None and transfer.duration_ns is None:
        raise ValueError("a transfer needs bytes or duration_ns")
    words = [str(binary), "send", host, "--port", str(port), "--quiet", "--streams", str(transfer.streams)]
    words += ["--window", str(transfer.window_bytes) if transfer.window_bytes is not None else "auto"]
    words += ["--window-exact"] if transfer.window_exact else []
    words += ["--congestion", ",".join(transfer.congestion_controls or [transfer.congestion_control])]
    words += ["--send", transfer.send] if transfer.send != "auto" else []
    words += ["--bytes", str(transfer.bytes)] if transfer.bytes is not None else []
    words += ["--time", seconds_text(transfer.duration_ns)] if transfer.duration_ns is not None else []
    words += ["--receive", transfer.receive, "--interval", f"{transfer.sample_interval_ns}ns"]
    words += ["--protect", transfer.protect, "--key", KEY_FILE] if transfer.protect != "none" else []
    words += ["--mptcp"] if transfer.mptcp else []
    words += ["--pacing", str(transfer.pacing_rate_bps)] if transfer.pacing_rate_bps is not None else []
    words += ["--stagger", seconds_text(transfer.start_stagger_ns)] if transfer.start_stagger_ns else []
    words += _waits(transfer.stall_ns, "--connect-timeout", "--answer-timeout")
    words += ["--samples", samples] if samples else []
    words += ["--live", live] if live else []
    words += ["--json", json] if json else []
    return words


def _waits(stall_ns: int | None, *others: str) -> list[str]:
    """Time for which an end waits for something to move; the other end's words take at least as long to come."""
    if stall_ns is None:
        return []
    return [
        word
        for option in ("--stall", *(others if stall_ns > OWN_STALL_NS else ()))
        for word in (option, f"{stall_ns}ns")
    ]


def datagram_command(
    transfer: Transfer,
    host: str,
    ip_version: int,
    *,
    json: str,
    port: int = ENGINE_PORT,
    binary: str | Path = ENGINE_BINARY,
) -> list[str]:
    """Command line of a sender of datagrams.

    Args:
        transfer: what is sent, with rate and size of its packets.
        host: address of the receiver.
        ip_version: of the packets.
        json: path as the sender sees it.
        port: on which the receiver listens.
        binary: the engine.
    """
    assert transfer.packet_bytes is not None
    assert transfer.duration_ns is not None
    words = [str(binary), "udp", host, "--port", str(port), "--time", seconds_text(transfer.duration_ns)]
    words += ["--rate", str(payload_rate_bps(transfer, ip_version))]
    words += ["--size", str(payload_bytes(transfer.packet_bytes, ip_version))]
    if transfer.active_ns and transfer.idle_ns:
        words += ["--active", f"{transfer.active_ns}ns", "--idle", f"{transfer.idle_ns}ns"]
    return [*words, *_waits(transfer.stall_ns, "--connect-timeout", "--answer-timeout"), "--json", json]


def engine_commands(
    transfer: Transfer,
    out: str,
    *,
    ip_version: int = 4,
    receiver: str = "{receiver}",
    port: int = ENGINE_PORT,
    binary: str | Path = ENGINE_BINARY,
) -> tuple[list[str], list[str]]:
    """Both command lines of a transfer whose files go to the folder `out`.

    Args:
        transfer: what is sent and how.
        out: folder as the programs see it; gets receiver.csv, receiver.json, sender.csv, live.jsonl and engine.json.
        receiver: its address, or a placeholder that the world fills in; so is `KEY_FILE`, where data is protected.
        ip_version: of the packets.
        port: on which it listens.
        binary: the engine.

    Returns:
        command of the receiver, command of the sender.
    """
    receiving = receive_command(
        transfer.sample_interval_ns,
        samples=f"{out}/receiver.csv",
        json=f"{out}/receiver.json",
        port=port,
        stall_ns=transfer.stall_ns,
        key=KEY_FILE if transfer.protect != "none" else None,
        binary=binary,
    )
    if transfer.protocol == "udp":
        json = f"{out}/engine.json"
        return receiving, datagram_command(transfer, receiver, ip_version, json=json, port=port, binary=binary)
    sending = send_command(
        transfer,
        receiver,
        samples=f"{out}/sender.csv",
        live=f"{out}/live.jsonl",
        json=f"{out}/engine.json",
        port=port,
        binary=binary,
    )
    return receiving, sending
