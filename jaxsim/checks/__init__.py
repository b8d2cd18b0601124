"""What can be simulated, how far from MuJoCo C the numbers are, and where a simulation went wrong."""
