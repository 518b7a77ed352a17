"""landspeed/scenario/traces."""
