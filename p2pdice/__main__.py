"""Start the command line for ``python -m p2pdice``, like the console script."""

from cli import main

if __name__ == "__main__":
    main()
