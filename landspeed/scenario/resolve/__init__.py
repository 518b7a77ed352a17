"""landspeed/scenario/resolve."""
