"""Results: the bundle of one run, its judge, queries over all bundles, and the report."""
