"""Options: the parser, and what plans, places to run and programs they name."""
