"""One function a command; its docstring is its help."""
