"""What any program does to a long path: `landspeed probe`."""
