"""The page about balance, with the Kiviat diagram."""
