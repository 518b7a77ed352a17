"""Prints a part of the documents that is made from the program: python -m docs.generators scenario-keys."""

import sys

from docs.generators import made

print(made(" ".join(sys.argv[1:])).strip("\n"))
