"""`python -m tenfold` is the command `tenfold`."""

import sys

from tenfold.cli import main

if __name__ == "__main__":
    sys.exit(main())
