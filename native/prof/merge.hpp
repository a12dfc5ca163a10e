// One file of what all ranks counted.
#pragma once

namespace kiviat::prof {

// The words of all ranks go up a binomial tree to rank 0, which writes them to FOLDER/world-HOST-PID.profile:
//
//   {"format":"kiviat.profile/1",…}            a line of JSON: what words mean (description()), and "bytes", "adler32"
//   {"ranks":…}                                 of what follows
//   for each rank, in order: the number of words that are not 0, then for each of them how many places it stands behind
//   the one before, and its value; all as LEB128 numbers
//
// Collective; at the end the files of the ranks are removed.
void merge(const char* folder);

}  // namespace kiviat::prof
