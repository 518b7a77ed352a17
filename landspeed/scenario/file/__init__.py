"""landspeed/scenario/file."""
