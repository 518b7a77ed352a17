"""The emulated world: a real Linux TCP stack, namespaces and netem, in virtual time.

cores.py              One core of the host for each guest
doctor.py             `landspeed doctor`: can this host run the emulated world? Each finding with its remedy
evidence_decoding.py  Evidence of a run on the host's side
flows.py              The flows of a run in the emulated world: their programs, what these told
guest_answer.py       Answer of the guest at its end (guest.json), or written by then (measured.json), typed
guest_inputs.py       Inputs of a guest: its job and the plan, as files of the run's folder
hop_delays.py         One-way delay of each packet from whole captures of every node of a path
hugepages.py          Huge pages for the guest's memory: a tmpfs of its own
iperf3.py             iperf3 as the tool of a transfer: its command lines
kernel_build.py       The virtual-time kernel: found in the cache
kernel_choice.py      Choice of a run's kernel: that of `make setup`, another release of the cache
kernel_modules.py     Modules of the virtual-time kernel: in a folder beside it
kernel_objects.py     Objects that a build of the guest's kernel compiles: how long each took
kernel_source.py      Sources of Linux: which releases the patches fit, which archives are here
kernel_wheel.py       The kernel of a wheel that the user has at hand, in place of a build: of the same recipe
machine.py            The guest seen from the host: one User-Mode Linux process
memory.py             Memory: what the guest needs, and what the host can give; told before anything starts
mininet.py            A Mininet script in a guest of its own, host side: it builds its network itself
options.py            The options of the emulated world
refusals.py           Refusals of scenarios that Linux's queue disciplines cannot do
run_facts.py          Facts of a run: found on the host, in the files that the guest left
sampling.py           Sampling of the guest's sockets, host side: the guest's orders
script_net.py         The net that a Mininet script started: in words, with what is odd about it
second_core.py        A core of the host for a guest's programs, while one is free
session.py            A session with a guest, host side: ask it one thing after the other
spin_cost.py          Virtual time that spinning programs take (patch 0018), as an option: `--spin-cost 1us`
typed_lines.py        A person at a terminal types what a script reads, host side (the other side
wall_time.py          Wall time of a run, said before it: a law of the work
watchdog.py           Follows a running guest from the host: phases on its console, live figures
world.py              The emulated world, host side: a plan in, a bundle out
guest/                Programs inside the guest: PID 1, the nodes, the shaping, the calibration, the transfer

hugepages.py and sampling.py are short because doctor.py needs them without a world, guest_answer.py because watchdog.py
needs it without a record.
"""
