"""`eyetest serve-fake`."""
