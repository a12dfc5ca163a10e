"""One module for each format of other programs, with NAME, `sniff` and `parse`; nothing else lists them.

No text is recognised by two modules, so their order does not matter.
"""
