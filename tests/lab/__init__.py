"""Three real Debian servers on one machine: sender, shaper, receiver, for the plays of `landspeed real`."""
