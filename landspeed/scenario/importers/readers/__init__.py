"""Readers of measuring programs' files, a module each; `READER` in it is what the import knows of it.

Adding one is adding its module here: registry.py finds it.
"""
