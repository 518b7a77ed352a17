"""Samples of every socket of a guest, and what they say: which connection was held back by what."""
