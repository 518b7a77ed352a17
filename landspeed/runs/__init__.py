"""Use cases: one run, many runs, comparing, the record book. No argument is parsed here.

comparing.py       Comparing: what is to be run is run, and the runs are laid side by side
library.py         Interface of `import landspeed` for programs: load, run, arun, runs, import_measured
library_sweeps.py  Interface of `import landspeed` for many runs: sweep, predict, compare_sweeps
one_run.py         One run from plan to bundle: the world makes it, the judge judges it, the bundle keeps it
preload.py         Import the judge and report in a thread while the world runs
record_book.py     `landspeed record-book`: rehearse every record, side by side over the cores
run.py             A run that was made: what is known of it, its samples, its pictures
scenario.py        A scenario as the library gives it: loaded from a file or built in Python, changed, shown
scratch.py         A folder for a run that leaves no bundle
verifying.py       An imported scenario run in both worlds at once, beside what was measured: what differs
sweeps/            Many runs: the cells of a file that varies something, what is known of them

scratch.py is short because programs/ and cli/ need it without a run.
"""
