"""The emulated world: a real Linux TCP stack, namespaces and netem, in virtual time.

cores.py              One core of the host for each guest
doctor.py             `landspeed doctor`: can this host run the emulated world? Each finding with its remedy
evidence_captures.py  The evidence of a run on the host's side: are the programs there
flows.py              The flows of a run in the emulated world: their programs, what these told
guest_answer.py       What the guest answers at its end (guest.json), or has written by then (measured.json)
hugepages.py          Huge pages for the guest's memory: a tmpfs of its own
iperf3.py             iperf3 as the tool of a transfer: its command lines
kernel_build.py       The virtual-time kernel: found in the cache
kernel_choice.py      Which kernel a run has: that of `make setup`, another release of the cache
kernel_source.py      Sources of Linux: which releases the patches fit, which archives are here
machine.py            The guest seen from the host: one User-Mode Linux process
memory.py             Memory: what the guest needs, and what the host can give; told before anything starts
options.py            The options of the emulated world
refusals.py           What a scenario can ask and Linux's queue disciplines cannot do
run_facts.py          What is found of a run: on the host, in the files that the guest left
sampling.py           How every socket of the guest is sampled, host side: what the guest is told
session.py            A session with a guest, host side: ask it one thing after the other
spin_cost.py          What programs that spin take of virtual time (patch 0018), as an option: `--spin-cost 1us`
watchdog.py           Follows a running guest from the host: phases on its console, live figures
world.py              The emulated world, host side: a plan in, a bundle out
guest/                What runs inside the guest: PID 1, the nodes, the shaping, the calibration, the transfer

hugepages.py and sampling.py are short because doctor.py needs them without a world, guest_answer.py because watchdog.py
needs it without a record.
"""
