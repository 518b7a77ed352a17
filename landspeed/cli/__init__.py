"""The command line: words to calls, progress on a terminal, errors to exit statuses."""
