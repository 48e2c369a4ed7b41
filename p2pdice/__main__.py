"""``python -m p2pdice`` starts the command line, as the console script does."""

from cli import main

if __name__ == "__main__":
    main()
