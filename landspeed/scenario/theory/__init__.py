"""landspeed/scenario/theory."""
