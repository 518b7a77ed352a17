"""Pytest's plug-in."""
