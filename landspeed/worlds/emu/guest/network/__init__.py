"""landspeed/worlds/emu/guest/network."""
