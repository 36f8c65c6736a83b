"""`python -m eyetest`."""

from eyetest.cli import main

main()
