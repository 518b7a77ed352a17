"""landspeed/worlds/emu/guest/shaping."""
