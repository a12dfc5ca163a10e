#include "platform/activity.hpp"

namespace kiviat::host {

ActivityReader::ActivityReader(MPI_Comm) {}

bool ActivityReader::available() { return false; }

Reading ActivityReader::read() const { return {}; }

}  // namespace kiviat::host
