"""Use cases: one run, many runs, comparing, the record book. No argument is parsed here."""
