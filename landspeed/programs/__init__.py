"""Tests of programs on long paths: a path to hold in one's hands, and pytest's plug-in on top of it.

calls.py          A function of a test, called at a node: what goes there and what comes back
conditions.py     Conditions that can be waited for at a node: a listening socket, a line of output
errors.py         Errors of a path in a test's hands
events.py         `path.at`: what shall happen to a link, read and checked as an entry of a scenario's `events`
frames.py         Captured packets in words that do not depend on the seed
guest_call.py     A program of the guest: call the function of a pickle, and write what it returns or raises
kept_files.py     Files of a path that are kept for people: all of a failed test; the captures of a passed one
library.py        `ls.path(…)`: a path for a block of Python, with or without pytest
live_path.py      A path whose clock moves as it is asked: its session, and the story of what happened on it
node_program.py   A program at a node of a path, as the test holds it
path.py           A path in a test's hands: its nodes, its clock, and what shall happen to its links
pytest_plugin.py  Pytest's plug-in: the marker `landspeed`, the fixture `path`
sampling.py       The samples of a path's sockets, and what held its programs back
story.py          Story of a path, line by line, each with its virtual time
strategies.py     Hypothesis strategies for paths and for what happens to them; what is found shrinks to a short
visible_files.py  Files of this computer that the programs of a path see although the guest has folders of its
probe/            Probe: the effect of a long path on any program

errors.py is short because all other files need it.
"""
