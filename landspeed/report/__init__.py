"""Bundles become pages and tables for people: reports, comparisons, submissions, the record book."""
