"""`python -m jaxsim`: the command line."""

import sys

from jaxsim.cli import main

if __name__ == "__main__":
    sys.exit(main())
