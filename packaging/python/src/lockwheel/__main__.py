"""`python -m lockwheel` is the program `lockwheel`."""

import os
import sys

from ._binary import find

if __name__ == "__main__":
    os.execv(find(), ["lockwheel", *sys.argv[1:]])
