"""Points at which the lab's tests kill a play, one in each role."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Kill:
    """Where a role's play is killed.

    Attributes:
        role: of the play of the same name, or with `play`.
        line: when this is said.
        left: a task of the role that it does not come to any more.
        words: for the play.
        play: that has the role, where its name is another.
    """

    role: str
    line: str
    left: str
    words: tuple[str, ...] = ()
    play: str = ""


KILLS = [
    # The first of the servers that have all in place, one after the other: each begins with what the one before left.
    [
        Kill(
            "watch", "watch: Put the watch there: sender", "Begin to watch", ("--attempt", "unwatched"), play="attempt"
        ),
        Kill(
            "attempt",
            "sender: time_s",
            "Stop what still runs, and look at the host after",
            ("--attempt", "killed", "--capture", "1000000"),
        ),
        Kill("collect", "collect: Look at what the attempt left: sender", "Fetch it"),
        Kill(
            "restore",
            "restore: Put former values back: ",
            "Let systemd forget removed units, and remove temporary files of killed plays",
        ),
    ],
    [
        Kill("preflight", "preflight: See whether sudo works: sender", "Show the findings"),
        Kill("lease", "lease: See whose the host is: sender", "Show whose it was", play="tune"),
        Kill("tune", "tune: Find the NIC of the path: sender", "Show what this host does not have"),
    ],
    [Kill("deploy", "deploy: Install what the engine needs: receiver", "Ask the installed engine which it is")],
    [Kill("shape", "shape: Set the box up for the path: shaper", "Measure the rate of each link")],
]
# Of several flows, in their own lab (test_fleet_lab.py).
FLEET_KILL = Kill(
    "fleet",
    "fleet: Start the flows: receiver",
    "Wait for the flows",
    ("--unrehearsed", "the lab", "--attempt", "killed"),
    play="attempt",
)
