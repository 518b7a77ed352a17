"""landspeed/worlds/emu/guest/calibration."""
