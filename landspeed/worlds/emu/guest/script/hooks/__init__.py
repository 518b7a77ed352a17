"""Folder in the search path of every Python of a script; apart, since nothing else of the room may be found there.

sitecustomize.py  Begin of every Python that runs for a script: what `changes` changes in a module of Mininet

sitecustomize.py is short because Python asks for a file of this name, and for nothing else here.
"""
