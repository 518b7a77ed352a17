"""landspeed/base."""
