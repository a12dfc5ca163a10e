"""One module for each format of other programs, with NAME, `sniff` and `parse`; nothing else lists them.

Modules do not take each other's output for theirs, so their order does not matter; a log of several programs
is read by several of them.
"""
