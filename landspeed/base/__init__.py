"""Modules that every room needs: errors, files, places, progress, units in words, logs, the version.

captures.py       Packet captures: the packets of a pcap or pcapng file, in either byte order, in µs or ns
config.py         The user's file of defaults: `landspeed/config.toml` below XDG_CONFIG_HOME
errors.py         Errors that point at a place in a file: file:line:column, the line, a caret, what is wrong
extras.py         Extras of the package: which commands need them, and which of their packages are not installed
failures.py       Failures of a run, the same for every world: before anything was started, or once it ran
files.py          Small things about files that every room needs: replaced as a whole, read as JSON
finding.py        Findings of `landspeed doctor`: the thing looked at, its state, its remedy
foreign_units.py  Units of another kind that people write for a rate or a size, and what they are worth
json_form.py      Dataclasses as plain values of JSON and back, strictly: nothing unknown or missing
limits.py         Words for what limits a transfer, with a sentence each
log.py            Logs of what is decided and started: standard logging, a logger for each module
loss_units.py     Losses as a scenario file has them: a share, every N-th packet, errors of bits
near.py           Words that may have been meant by one that is not known
places.py         Paths of the folders beside the package that are not Python
progress.py       State of a run while it goes on, and its text
segments.py       TCP segments of a packet capture: what the headers say
text.py           Quantities in words, as the summary and the report show them
units.py          Quantities with units: exact parsing, formatting, and the pydantic types made from them
units_text.py     Rates and times in units that fit, without the parser: for the guest too
version.py        The version of this package, for all rooms: its face imports them, so they cannot import it

finding.py, places.py, units_text.py and version.py are short because each is one thing that many rooms need without the
rest; the guest needs units_text.py. foreign_units.py is short because it is a list for suggestions alone.

near.py is short, as the command line and scenario files both guess in the same way.
"""
