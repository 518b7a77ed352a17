"""`python -m landspeed`: the command where no script is on the path. Short: Python asks for a file of this name."""

from landspeed.cli.main import main

raise SystemExit(main())
