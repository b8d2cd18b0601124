"""What goes around an environment, one file each; `envs.wrap` puts the usual ones together."""
