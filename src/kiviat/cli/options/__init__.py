"""Options: the parser, requests, and the plans, substrates and programs that options name."""
