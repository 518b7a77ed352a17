"""A Mininet script in the guest: the tree it sees, what differs in Mininet for it, and what its net was.

beside.py         Programs of ours beside a script, in namespaces of its nodes: begun there
changes.py        Changes of Mininet for a script in virtual time: links without bandwidth, screens
describe.py       Description of a net of Mininet once it has started, for the host
evidence.py       Evidence of a net of Mininet: captures at its hosts' links
run_script.py     A Mininet script in the guest: as root, in a tree of files that it may write
typed_input.py    Standard input of a script at a terminal: each line comes from the person there
written_files.py  A tree of files that may all be written: what a script writes lies over the host's tree
hooks/            Folder in the search path of every Python of a script; apart
"""
