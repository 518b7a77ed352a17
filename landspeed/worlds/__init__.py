"""Interface of every world and every transfer tool, and how they are found. No world is named here.

built_programs.py  A program that is part of landspeed: is it there, can it be executed, and if not
distribution.py    Installation of programs on this computer's distribution
make_world.py      A world by its name, with its options by theirs
options.py         A world's options as one dataclass
program_world.py   A world that runs programs of the user's on its paths: one program, a prompt, or a session
registry.py        Worlds and tools by name
this_host.py       Facts of the machine that runs the command, for the records of runs
tool.py            A tool: the program that makes the transfer inside a world
world.py           A world: what makes a run of a plan
emu/               The emulated world: a real Linux TCP stack, namespaces and netem, in virtual time
engine/            The C transfer engine: its command line and its result, for Python
real/              The real world: Ansible plays that an operator can run by themselves
sim/               The simulated world: the ns-3 program, and its driver

built_programs.py is short because a world, its doctor and its kernels share it.
this_host.py is short because two worlds and what one learned of its runs share it.
"""
