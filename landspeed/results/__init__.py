"""Results: the bundle of one run, its record and samples, queries over all bundles."""
