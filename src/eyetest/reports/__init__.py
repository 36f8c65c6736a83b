"""Results for people."""
