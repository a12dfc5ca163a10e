"""What is worth telling about a run, each finding with its evidence."""
