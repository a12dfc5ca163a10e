"""Results as text in the terminal."""
