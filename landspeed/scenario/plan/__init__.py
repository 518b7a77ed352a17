"""landspeed/scenario/plan."""
