"""Programs inside the guest: PID 1, the nodes, the shaping, the calibration, the transfer.

agent.py              PID 1 of the guest: mounts, builds the network, calibrates, does the job
background.py         Background traffic: UDP packets of full size from one end of a link to the other
clock.py              Waiting for a time of the monotonic clock, to the nanosecond
consoles.py           The guest's second and third console
event_clock.py        Clock of the plan's events: since when they count, and the wait until each is due
evidence_captures.py  Evidence of a run, taken around its transfer: captures by tcpdump, pings, traceroutes
files.py              The guest's file systems: the host's tree read-only, the run's folder writable
job.py                Job of the guest: `job.json`, written by the host (world.py) and read by the guest
joined_links.py       Joined links: those of a plan that are passed in one step
link_events.py        Events on links, what each kind does: loss, outage, delay, rate, background traffic
link_samplers.py      The programs that look at links and sockets meanwhile (emu/linkwatch)
pinger.py             Echoes beside a transfer: ICMP from a flow's sender to its receiver
reading.py            The plan and the job as the host wrote them: it has checked every value
spawn.py              Programs of a transfer, by posix_spawn(3)
spin_cost.py          Programs that spin while they wait: what of virtual time they take
start.py              First program of the guest
transfer.py           The transfer in the guest: receiving and sending programs of each flow
calibration/          Probes that measure the path before anything is sent over it
network/              The network inside the guest: namespaces, veth pairs, addresses, routes, by netlink
script/               A Mininet script in the guest: the tree it sees, what differs in Mininet for it
session/              A guest that does one thing after the other as the host asks it
shaping/              Delay, rate, loss and queues of each direction of a link, by qdiscs
stdlib_stand_ins/     Standard modules, in the little that the guest needs of them (start.py)

Every import costs wall time at each start: what start.py does without is not imported here. `dataclasses` and `typing`
are those of stdlib_stand_ins/: no order, defaults only by default_factory, no fields of a base class, no __post_init__.

start.py is short because it runs before there is a search path; spin_cost.py because few guests import it; consoles.py
because a session and a script both have them.
"""
