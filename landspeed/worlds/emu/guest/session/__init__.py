"""landspeed/worlds/emu/guest/session."""
