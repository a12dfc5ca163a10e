"""What a program did with MPI: reads profiles, and says who sent how much to whom."""

from kiviat.profile.traffic import Traffic

__all__ = ["Traffic"]
