"""The page about scaling."""
