"""Pictures of networks, and networks in words."""
