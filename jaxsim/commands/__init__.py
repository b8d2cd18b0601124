"""The commands of the command line, one per file: each has `add_arguments(parser)` and `run(args)`."""
