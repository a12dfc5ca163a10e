// Messages of records, with checksums of all data sent and of all data received. Summed over all ranks, the two are
// equal unless data was lost, corrupted or delivered to a wrong rank.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "support/random.hpp"

namespace kiviat::app {

// Checksum that depends on every bit, on positions, and on source, target and tag.
class Checksum {
 public:
  struct Way {
    int source, target, tag;
  };

  void add(const void* data, std::size_t bytes, const Way& way = {}) {
    const auto* from = static_cast<const unsigned char*>(data);
    const std::uint64_t ends = static_cast<std::uint64_t>(way.source) << 32 | static_cast<std::uint32_t>(way.target);
    const std::uint64_t begin = mix(mix(ends) + static_cast<std::uint64_t>(way.tag) * random_step + bytes);
    sum_ += begin;                     // empty messages count too
    std::uint64_t factor = begin | 1;  // odd, so that it never becomes 0
    for (std::size_t at = 0; at < bytes; at += sizeof(std::uint64_t), factor += random_step - 1) {
      std::uint64_t word = 0;
      std::memcpy(&word, from + at, std::min(sizeof word, bytes - at));
      sum_ += (word + 1) * factor;
    }
  }
  std::uint64_t sum() const { return sum_; }

 private:
  std::uint64_t sum_ = 0;
};

// Marks data as not yet received: all bits are set, which is neither a valid number nor a valid index.
template <class Record>
void blank(std::vector<Record>& records, std::size_t count) {
  records.resize(count);
  if (count > 0) std::memset(static_cast<void*>(records.data()), 0xff, count * sizeof(Record));
}

template <class Record>
int bytes_of(const std::vector<Record>& records) {
  return static_cast<int>(records.size() * sizeof(Record));
}

class ChecksummedExchange {
 public:
  // Without `checked` messages are delivered without checksums.
  ChecksummedExchange(MPI_Comm comm, bool checked) : comm_(comm), checked_(checked) { MPI_Comm_rank(comm, &rank_); }

  // Starts sending. Records must stay unchanged until add_checksums().
  template <class Record>
  void send(const std::vector<Record>& records, int rank, int tag) {
    if (checked_) pending_.push_back({records.data(), records.size() * sizeof(Record), {rank_, rank, tag}, &sent_});
    MPI_Isend(records.data(), bytes_of(records), MPI_BYTE, rank, tag, comm_, &requests_.emplace_back());
  }
  // Starts receiving up to `most` records.
  template <class Record>
  void receive(std::vector<Record>& records, std::size_t most, int rank, int tag) {
    blank(records, most);
    MPI_Irecv(records.data(), bytes_of(records), MPI_BYTE, rank, tag, comm_, &requests_.emplace_back());
  }
  // Completes all started messages.
  void wait() {
    statuses_.resize(requests_.size());
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), statuses_.data());
    requests_.clear();
  }
  // Bytes received by the `number`-th receive, counted from 0, of the last wait().
  std::size_t received_bytes(std::size_t number) const {
    int bytes = 0;
    MPI_Get_count(&statuses_[number], MPI_BYTE, &bytes);
    return static_cast<std::size_t>(bytes);
  }
  // Adds a received message to the checksum at the next add_checksums(); its content must stay valid until then.
  template <class Record>
  void received(const std::vector<Record>& records, int rank, int tag) {
    if (checked_) pending_.push_back({records.data(), records.size() * sizeof(Record), {rank, rank_, tag}, &received_});
  }
  // Adds all messages since the last call to the checksums; separate from wait(), because it takes time.
  void add_checksums() {
    for (const Pending& one : pending_) one.into->add(one.records, one.bytes, one.way);
    pending_.clear();
  }

  // Sends a number to each rank and returns the received ones. Collective.
  std::vector<int> exchanged_counts(const std::vector<int>& counts) const {
    std::vector<int> come(counts.size());
    MPI_Alltoall(counts.data(), 1, MPI_INT, come.data(), 1, MPI_INT, comm_);
    return come;
  }
  // Sends records to each other rank and returns those received from each. Collective.
  template <class Record>
  std::vector<std::vector<Record>> exchanged(const std::vector<std::vector<Record>>& outgoing, int tag) {
    std::vector<int> counts;
    for (const std::vector<Record>& records : outgoing) counts.push_back(static_cast<int>(records.size()));
    const std::vector<int> come = exchanged_counts(counts);
    const auto self = static_cast<std::size_t>(rank_);
    std::vector<std::vector<Record>> incoming(come.size());
    for (std::size_t rank = 0; rank < come.size(); ++rank)
      if (rank != self && come[rank] > 0)
        receive(incoming[rank], static_cast<std::size_t>(come[rank]), static_cast<int>(rank), tag);
    for (std::size_t rank = 0; rank < counts.size(); ++rank)
      if (rank != self && counts[rank] > 0) send(outgoing[rank], static_cast<int>(rank), tag);
    wait();
    for (std::size_t rank = 0; rank < come.size(); ++rank)
      if (!incoming[rank].empty()) received(incoming[rank], static_cast<int>(rank), tag);
    return incoming;
  }

  // True if all messages with a checksum arrived as they were sent, on all ranks. Collective.
  bool all_arrived() const {
    const std::uint64_t mine = sent_.sum() - received_.sum();
    std::uint64_t all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, comm_);
    return all == 0;
  }

 private:
  struct Pending {
    const void* records;
    std::size_t bytes;
    Checksum::Way way;
    Checksum* into;
  };

  MPI_Comm comm_;
  bool checked_;
  int rank_;
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;
  std::vector<Pending> pending_;
  Checksum sent_, received_;
};

}  // namespace kiviat::app
