"""What a program did with MPI: reads profiles, and says who sent how much to whom."""

from kiviat.profile.layout import DISTANCES
from kiviat.profile.profile import Calls, Interfaces, Profile
from kiviat.profile.read import add_crossing, is_profile, read_profile, write_merged
from kiviat.profile.traffic import Traffic

__all__ = [
    "DISTANCES",
    "Calls",
    "Interfaces",
    "Profile",
    "Traffic",
    "add_crossing",
    "is_profile",
    "read_profile",
    "write_merged",
]
