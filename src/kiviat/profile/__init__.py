"""Profiles of MPI programs: calls, traffic matrices, wait states and phases."""

from kiviat.profile.layout import DISTANCES
from kiviat.profile.phases import RankPhases
from kiviat.profile.profile import Calls, Interfaces, Profile
from kiviat.profile.read import (
    add_children,
    add_crossing,
    add_phases,
    add_simulated,
    add_subject,
    add_waits,
    is_profile,
    read_profile,
    remarks_on_left_out,
    write_merged,
)
from kiviat.profile.simulated import Simulated
from kiviat.profile.traffic import Traffic
from kiviat.profile.waits import Waits

__all__ = [
    "DISTANCES",
    "Calls",
    "Interfaces",
    "Profile",
    "RankPhases",
    "Simulated",
    "Traffic",
    "Waits",
    "add_children",
    "add_crossing",
    "add_phases",
    "add_simulated",
    "add_subject",
    "add_waits",
    "is_profile",
    "read_profile",
    "remarks_on_left_out",
    "write_merged",
]
