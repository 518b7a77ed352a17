"""The lessons of the course: a folder each, with text, scenarios and theory. `landspeed.course` finds them."""
