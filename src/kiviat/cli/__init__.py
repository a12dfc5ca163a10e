"""Commands: the only room that imports every other."""
