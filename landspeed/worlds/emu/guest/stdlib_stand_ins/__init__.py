"""Standard modules, in the little that the guest needs of them (start.py)."""
