"""The execution of a plan: launches, their events, and the records made of them."""
