"""`python -m recall` is the command `recall`."""

from recall.cli import main

if __name__ == "__main__":
    main()
