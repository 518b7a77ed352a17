"""Tests of programs on long paths: a path to hold in one's hands, and pytest's plug-in on top of it."""
