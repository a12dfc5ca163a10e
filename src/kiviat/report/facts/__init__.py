"""What run.json says, in the words of the page."""
