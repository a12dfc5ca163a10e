// Distributed three-dimensional Fourier transforms. Lines are gathered in blocks that stay in the cache, transformed
// there, and written directly to send buffers, without a separate transposition. Each rank exchanges messages with all
// others of its row or column. In the backward transform these messages are divided into chunks, which are in flight
// while the next ones are computed.
#pragma once

#include <mpi.h>

#include <array>
#include <cmath>
#include <vector>

#include "bench/npb/fourier_kernels.hpp"
#include "bench/npb/fourier_shape.hpp"
#include "bench/npb/outcome.hpp"
#include "bench/npb/range.hpp"
#include "kernels/fftw.hpp"
#include "platform/compute.hpp"
#include "support/failure.hpp"

namespace kiviat::npb {

class Fourier3d {
 public:
  enum Phase { transforms, exchange };

  Fourier3d(MPI_Comm comm, const FourierShape& shape, Phases& phases, const std::array<int, 2>& phase_numbers)
      : shape_(shape), phases_(phases), phase_(phase_numbers) {
    int rank;
    MPI_Comm_rank(comm, &rank);
    const int across = static_cast<int>(shape.across), along = static_cast<int>(shape.along);
    row_ = {.comm = comm, .ranks = across, .me = rank % across, .first = rank - rank % across, .step = 1};
    column_ = {.comm = comm, .ranks = along, .me = rank / across, .first = rank % across, .step = across};
    width_ = std::min<std::int64_t>(block_width, shape.x_part());
    if (column_.ranks > 1 && row_.ranks == 1)
      while (chunks_ < most_chunks && rows_of_chunk() > 1 && 16 * message() > 2 * least_message_bytes) chunks_ *= 2;
  }

  // Number of elements of the memory that the caller provides; nothing else may use that memory.
  std::int64_t elements() const { return (alone() ? 2 : 3) * shape_.part() + block_elements(); }

  int chunks() const { return chunks_; }  // messages from one rank to another in the backward transform

  // Must be called once before any transform; overwrites the memory. Without `fftw` nothing is computed.
  void prepare(Complex* memory, const Fftw* fftw, Planning planning) {
    waves_ = memory;
    sent_ = memory + shape_.part();
    received_ = alone() ? sent_ : sent_ + shape_.part();
    block_ = received_ + shape_.part();
    if (!fftw) return;
    const std::int64_t rows = row_.ranks > 1 ? shape_.y_part_across() : rows_of_chunk();
    for (const int sign : {forward, backward}) {
      Plans& plans = sign == forward ? forward_ : backward_;
      plans.z = planned(*fftw, {shape_.nz, width_, width_, 1, width_, 1}, block_, block_, sign, planning);
      plans.y = planned(*fftw, {shape_.ny, width_, width_, 1, width_, 1}, block_, block_, sign, planning);
      const bool in_place = alone() || row_.ranks > 1;
      const std::int64_t count = row_.ranks == 1 && sign == forward ? shape_.y_part_along() : rows;
      const Transforms along_x{shape_.nx, count, 1, shape_.nx, 1, shape_.nx};
      plans.x = planned(*fftw, along_x, in_place ? sent_ : received_, sent_, sign, planning);
    }
  }

  // Input of the forward transform and output of the backward transform, in the order (z part, y part across, x).
  Complex* before() const { return waves_; }
  Complex* after() const { return sent_; }
  Range z() const { return share(shape_.nz, column_.ranks, column_.me); }
  Range y() const { return share(shape_.ny, row_.ranks, row_.me); }

  // Forward transform; the result is kept.
  void to_waves() {
    if (row_.ranks == 1) {
      planes_to_waves();
    } else {
      rows_to_columns();
      columns_to_waves();
    }
    Complex* const from = alone() || row_.ranks > 1 ? waves_ : received_;
    compute(flops(shape_.nz), 32, [&] {
      const std::int64_t plane = shape_.y_part_along() * shape_.x_part();
      for (std::int64_t at = 0; at < plane; at += width_) {
        copy_runs(block_, from + at, {shape_.nz, width_, plane, width_}, Reuse::soon, from + at + width_);
        forward_.z(block_, block_);
        copy_runs(waves_ + at, block_, {shape_.nz, width_, width_, plane}, Reuse::soon);
      }
      all_written();
    });
  }

  // Multiplies the waves by their decay until time t and transforms them back to space.
  void to_space(double t) {
    fade_x_ = fading(shape_.nx, t, 2), fade_y_ = fading(shape_.ny, t, 1), fade_z_ = fading(shape_.nz, t, 1);
    const std::int64_t each = message();
    communicate([&] {
      for (int chunk = 0; chunk < chunks_; ++chunk)
        column_.receive_from_others(requests_, received_ + chunk * each, each, chunks_ * each, chunk);
    });
    for (int chunk = 0; chunk < chunks_; ++chunk) {
      Complex* const out = sent_ + chunk * column_.ranks * each;
      compute((flops(shape_.nz) + 4) / chunks_, 32.0 / chunks_, [&] { fade_and_transform(chunk, out); });
      communicate([&] { column_.send_to_others(requests_, out, each, chunk); });
    }
    communicate([&] { wait(); });
    if (row_.ranks == 1) {
      planes_to_space();
    } else {
      waves_to_columns();
      columns_to_rows();
    }
  }

 private:
  static constexpr int forward = -1, backward = 1;
  static constexpr std::int64_t block_width = 8, least_message_bytes = 256 << 10;
  static constexpr int most_chunks = 4;
  using Requests = std::vector<MPI_Request>;
  struct Plans {
    LocalFft x, y, z;
  };

  // A group of ranks that exchange data with each other.
  struct Line {
    MPI_Comm comm;
    int ranks, me;
    int first, step;  // ranks of the communicator: first + i * step

    // Receives `each` elements from every other rank; the data of successive ranks are `apart` elements apart in `to`.
    void receive_from_others(Requests& requests, Complex* to, std::int64_t each, std::int64_t apart, int tag) const {
      const int bytes = static_cast<int>(each * 16);
      for (int i = 1; i < ranks; ++i) {
        const int from = (me - i + ranks) % ranks;
        MPI_Irecv(to + from * apart, bytes, MPI_BYTE, first + from * step, tag, comm, &requests.emplace_back());
      }
    }
    // Sends `each` elements to every other rank; the data for successive ranks follow each other in `from`.
    void send_to_others(Requests& requests, const Complex* from, std::int64_t each, int tag) const {
      const int bytes = static_cast<int>(each * 16);
      for (int i = 1; i < ranks; ++i) {
        const int to = (me + i) % ranks;
        MPI_Isend(from + to * each, bytes, MPI_BYTE, first + to * step, tag, comm, &requests.emplace_back());
      }
    }
  };

  static LocalFft planned(const Fftw& fftw, const Transforms& what, Complex* in, Complex* out, int sign,
                          Planning planning) {
    LocalFft plan(fftw, what, in, out, sign, planning);
    if (!plan) throw Skip(fftw.name() + " cannot plan transforms of length " + std::to_string(what.n));
    return plan;
  }
  static Range share(std::int64_t total, int ranks, int mine) {
    return {total / ranks * mine, total / ranks * (mine + 1)};
  }

  bool alone() const { return row_.ranks == 1 && column_.ranks == 1; }
  std::int64_t rows_of_chunk() const { return shape_.y_part_along() / chunks_; }
  // Elements of a message between two ranks of a column, in the backward transform.
  std::int64_t message() const { return shape_.z_part() * rows_of_chunk() * shape_.x_part(); }
  std::int64_t block_elements() const { return width_ * std::max(shape_.ny, shape_.nz); }
  // Address where a rank writes the elements for member `to` of its line; its own part is not sent.
  static Complex* place_for(const Line& line, int to, Complex* sent, Complex* own, std::int64_t each) {
    return to == line.me ? own : sent + to * each;
  }

  static double flops(std::int64_t n) { return 5 * std::log2(static_cast<double>(n)); }
  // Flops and bytes per element.
  template <class Kernel>
  void compute(double flops, double bytes, Kernel kernel) {
    const double elements = static_cast<double>(shape_.part());
    phases_(phase_[transforms], [&] { work::run({.flops = flops * elements, .bytes = bytes * elements}, kernel); });
  }
  template <class Messages>
  void communicate(Messages messages) {
    phases_(phase_[exchange], messages);
  }
  void wait() {
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    requests_.clear();
  }
  // All-to-all exchange of parts with `each` elements, contiguous in `from` and in `to`.
  void exchange_all(const Line& line, Complex* from, Complex* to, std::int64_t each) {
    communicate([&] {
      line.receive_from_others(requests_, to, each, each, 0);
      line.send_to_others(requests_, from, each, 0);
      wait();
    });
  }

  // --- slabs -----------------------------------------------------------------------------------------

  void planes_to_waves() {
    const std::int64_t plane = shape_.nx * shape_.ny, rows = shape_.y_part_along(),
                       each = shape_.z_part() * rows * shape_.nx;
    compute(flops(shape_.nx) + flops(shape_.ny), alone() ? 32 : 48, [&] {
      for (std::int64_t z = 0; z < shape_.z_part(); ++z) {
        Complex* const from = waves_ + z * plane;
        transform_columns(from, forward_.y);
        for (int to = 0; to < column_.ranks; ++to) {
          Complex* const part = from + to * rows * shape_.nx;
          Complex* const place =
              place_for(column_, to, sent_, received_ + column_.me * each, each) + z * rows * shape_.nx;
          forward_.x(part, alone() ? part : place);
        }
      }
    });
    if (!alone()) exchange_all(column_, sent_, received_, each);
  }

  void planes_to_space() {
    const std::int64_t plane = shape_.nx * shape_.ny, rows = rows_of_chunk(), each = message();
    compute(flops(shape_.nx) + flops(shape_.ny), alone() ? 32 : 48, [&] {
      for (std::int64_t z = 0; z < shape_.z_part(); ++z) {
        Complex* const to = sent_ + z * plane;
        for (std::int64_t part = 0; part < column_.ranks * chunks_; ++part)
          backward_.x(received_ + part * each + z * rows * shape_.nx, to + part * rows * shape_.nx);
        transform_columns(to, backward_.y);
      }
    });
  }

  // Transforms the columns of a plane (y, x).
  void transform_columns(Complex* plane, const LocalFft& transform) const {
    for (std::int64_t x = 0; x < shape_.nx; x += width_) {
      copy_runs(block_, plane + x, {shape_.ny, width_, shape_.nx, width_}, Reuse::soon, plane + x + width_);
      transform(block_, block_);
      copy_runs(plane + x, block_, {shape_.ny, width_, width_, shape_.nx}, Reuse::soon);
    }
  }

  // --- both --------------------------------------------------------------------------------------------

  void fade_and_transform(int chunk, Complex* out) {
    const std::int64_t xs = shape_.x_part(), ys = shape_.y_part_along(), zs = shape_.z_part(), rows = rows_of_chunk();
    Complex* const own = received_ + (column_.me * chunks_ + chunk) * message();
    const double* const of_x = fade_x_.data() + 2 * xs * row_.me;
    std::vector<double> of_z(fade_z_.size());
    const Reuse reuse = shape_.part() * 16 > late_bytes ? Reuse::late : Reuse::soon;
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t y = chunk * rows + row;
      const double of_y = fade_y_[static_cast<std::size_t>(ys * column_.me + y)];
      for (std::size_t z = 0; z < of_z.size(); ++z) of_z[z] = of_y * fade_z_[z];
      for (std::int64_t x = 0; x < xs; x += width_) {
        gather_faded(block_, waves_ + y * xs + x, shape_.nz, width_, ys * xs, of_z.data(), of_x + 2 * x);
        backward_.z(block_, block_);
        for (int to = 0; to < column_.ranks; ++to) {
          Complex* const place = place_for(column_, to, out, own, message()) + row * xs + x;
          copy_runs(place, block_ + to * zs * width_, {zs, width_, width_, rows * xs}, reuse);
        }
      }
    }
    all_written();
  }

  // --- pencils -----------------------------------------------------------------------------------------

  std::int64_t row_message() const { return shape_.z_part() * shape_.y_part_across() * shape_.x_part(); }

  // Rows (x), gathered from parts and scattered to parts.
  void gather_rows(Complex* to, const Complex* parts) const {
    const std::int64_t rows = shape_.z_part() * shape_.y_part_across(), xs = shape_.x_part();
    for (int part = 0; part < row_.ranks; ++part)
      copy_runs(to + part * xs, parts + part * row_message(), {rows, xs, xs, shape_.nx}, Reuse::soon);
  }
  void scatter_rows(Complex* parts, Complex* own, const Complex* from) const {
    const std::int64_t rows = shape_.z_part() * shape_.y_part_across(), xs = shape_.x_part();
    for (int part = 0; part < row_.ranks; ++part)
      copy_runs(place_for(row_, part, parts, own, row_message()), from + part * xs, {rows, xs, shape_.nx, xs},
                Reuse::soon);
  }
  // Gathers lines along y from the parts received from one group of ranks, and scatters them to the parts for the
  // other.
  template <class From, class To>
  void transform_lines(const LocalFft& transform, int from_parts, From from, int to_parts, To to) const {
    const std::int64_t xs = shape_.x_part(), from_rows = shape_.ny / from_parts, to_rows = shape_.ny / to_parts;
    const Runs in{from_rows, width_, xs, width_}, out{to_rows, width_, width_, xs};
    for (std::int64_t z = 0; z < shape_.z_part(); ++z)
      for (std::int64_t x = 0; x < xs; x += width_) {
        for (int part = 0; part < from_parts; ++part)
          copy_runs(block_ + part * from_rows * width_, from(part) + z * from_rows * xs + x, in, Reuse::soon);
        transform(block_, block_);
        for (int part = 0; part < to_parts; ++part)
          copy_runs(to(part) + z * to_rows * xs + x, block_ + part * to_rows * width_, out, Reuse::soon);
      }
  }

  void rows_to_columns() {
    compute(flops(shape_.nx), 64, [&] {
      for (std::int64_t z = 0; z < shape_.z_part(); ++z) {
        Complex* const rows = waves_ + z * shape_.y_part_across() * shape_.nx;
        forward_.x(rows, rows);
      }
      scatter_rows(sent_, received_ + row_.me * row_message(), waves_);
    });
    exchange_all(row_, sent_, received_, row_message());
  }
  void columns_to_waves() {
    const std::int64_t each = message();
    compute(flops(shape_.ny), 32, [&] {
      transform_lines(
          forward_.y, row_.ranks, [&](int part) { return received_ + part * row_message(); }, column_.ranks,
          [&](int part) { return place_for(column_, part, sent_, waves_ + column_.me * each, each); });
    });
    exchange_all(column_, sent_, waves_, each);
  }

  void waves_to_columns() {
    const std::int64_t each = message();
    compute(flops(shape_.ny), 32, [&] {
      transform_lines(
          backward_.y, column_.ranks, [&](int part) { return received_ + part * each; }, row_.ranks,
          [&](int part) { return sent_ + part * row_message(); });
      const std::int64_t own = row_.me * row_message();
      std::copy_n(sent_ + own, row_message(), received_ + own);
    });
    exchange_all(row_, sent_, received_, row_message());
  }
  void columns_to_rows() {
    compute(flops(shape_.nx), 64, [&] {
      gather_rows(sent_, received_);
      for (std::int64_t z = 0; z < shape_.z_part(); ++z) {
        Complex* const rows = sent_ + z * shape_.y_part_across() * shape_.nx;
        backward_.x(rows, rows);
      }
    });
  }

  static constexpr std::int64_t late_bytes = 8 << 20;  // larger results are out of the cache when read next

  FourierShape shape_;
  Phases& phases_;
  std::array<int, 2> phase_;
  int chunks_ = 1;
  Line row_{}, column_{};
  std::int64_t width_ = 1;
  Complex *waves_ = nullptr, *sent_ = nullptr, *received_ = nullptr, *block_ = nullptr;
  Plans forward_, backward_;
  std::vector<double> fade_x_, fade_y_, fade_z_;
  Requests requests_;
};

}  // namespace kiviat::npb
