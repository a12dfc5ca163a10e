// Merges the profiles of all ranks into one file.
#pragma once

#include <string>

namespace kiviat::prof {

// Collects the words of all ranks along a binomial tree on rank 0, which writes FOLDER/world-HOST-PID.profile:
//
//   {"format":"kiviat.profile/2",…}            a line of JSON: the layout of the words, see description()
//   {"ranks":…,"bytes":…,"adler32":…}          a line of JSON: number of ranks, length and checksum of the rest
//   for each rank, in order: the number of non-zero words, then for each of them its distance from the one before and
//   its value, all as LEB128 numbers
//
// Collective over MPI_COMM_WORLD. Removes the per-rank files if the file was written, else prints a warning.
void merge(const std::string& folder);

}  // namespace kiviat::prof
