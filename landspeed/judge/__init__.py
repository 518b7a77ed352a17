"""landspeed/judge."""
