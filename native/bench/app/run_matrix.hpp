// Sparse matrix for products with a vector: slices of eight rows with interleaved elements (SELL-8-1: M. Kreutzer et
// al., "A unified sparse matrix data format for efficient general sparse matrix-vector multiplication on modern
// processors with wide SIMD units", SIAM J. Sci. Comput. 36(5), 2014), with compressed column numbers (K. Kourtis et
// al., "CSX: an extended compression format for SpMV on shared memory systems", PPoPP 2011): elements along a diagonal,
// in consecutive rows and columns, form a run, which stores only its first column. Elements outside of runs store a
// column number each, so any matrix can be stored.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/huge_pages.hpp"
#include "kernels/simd.hpp"
#include "kernels/target_clones.hpp"

namespace kiviat::app {

class RunMatrix {
 public:
  static constexpr std::size_t height = 8;
  using Column = std::int32_t;
  using Values = std::array<double, height>;
  using Columns = std::array<Column, height>;
  struct Slice {
    std::uint32_t runs = 0,
                  scattered = 0;  // numbers of runs and of scattered elements of the longest row; runs come first
  };
  static constexpr std::int64_t most_columns = INT32_MAX;

  static std::int64_t padded(std::int64_t rows) { return (rows + 7) / 8 * 8; }

  // source(i, add) calls add(column, value) once for each element of row i; allocate(bytes) returns memory.
  template <class Source>
  RunMatrix(std::int64_t rows, std::int64_t columns, const Source& source,
            const std::function<HugePages(std::size_t)>& allocate) {
    SliceBuilder builder(rows, columns);
    std::size_t runs = 0, scattered = 0;
    slices_.reserve(static_cast<std::size_t>(padded(rows)) / height);
    for (std::int64_t first = 0; first < rows; first += height) {
      const Slice slice = slices_.emplace_back(builder.arrange(first, source));
      runs += slice.runs, scattered += slice.scattered;
    }
    const std::size_t bytes = (runs + scattered) * sizeof(Values) + scattered * sizeof(Columns) + runs * sizeof(Column);
    bytes_ = bytes + slices_.size() * sizeof(Slice);
    memory_ = allocate(bytes);
    values_ = memory_.as<Values>();
    columns_ = reinterpret_cast<Columns*>(values_ + runs + scattered);
    firsts_ = reinterpret_cast<Column*>(columns_ + scattered);
    Values* next_values = values_;
    Columns* next_columns = columns_;
    Column* next_first = firsts_;
    for (std::int64_t first = 0; first < rows; first += height) {
      builder.arrange(first, source);
      for (const Run& run : builder.runs()) *next_values++ = run.values, *next_first++ = run.first;
      for (const Scattered& some : builder.scattered()) *next_values++ = some.values, *next_columns++ = some.columns;
    }
  }

  std::size_t bytes() const { return bytes_; }
  const std::vector<Slice>& slices() const { return slices_; }
  const Values* values() const { return values_; }     // values of all slices, one slice after the other
  const Column* firsts() const { return firsts_; }     // first columns of all runs, slice by slice
  const Columns* columns() const { return columns_; }  // columns of all scattered elements, slice by slice

 private:
  struct Run {
    Column first;
    Values values;
  };
  struct Scattered {
    Columns columns;
    Values values;
  };

  // Assembles one slice from the elements of its rows.
  class SliceBuilder {
   public:
    SliceBuilder(std::int64_t rows, std::int64_t columns) : rows_(rows), columns_(columns) {}

    template <class Source>
    Slice arrange(std::int64_t first, const Source& source) {
      elements_.clear(), runs_.clear(), scattered_.clear();
      length_.fill(0);
      for (std::size_t lane = 0; lane < height && first + static_cast<std::int64_t>(lane) < rows_; ++lane) {
        source(first + static_cast<std::int64_t>(lane), [&](std::int64_t column, double value) {
          elements_.push_back({column - static_cast<std::int64_t>(lane), lane, value});
        });
      }
      std::ranges::sort(elements_, {}, &Element::first);
      for (std::size_t begin = 0, end = 0; begin < elements_.size(); begin = end) {
        while (end < elements_.size() && elements_[end].first == elements_[begin].first) ++end;
        add(begin, end);
      }
      return {static_cast<std::uint32_t>(runs_.size()), static_cast<std::uint32_t>(scattered_.size())};
    }
    const std::vector<Run>& runs() const { return runs_; }
    const std::vector<Scattered>& scattered() const { return scattered_; }

   private:
    struct Element {
      std::int64_t first;  // column of the first element minus its lane
      std::size_t lane;
      double value;
    };

    // Makes elements of one diagonal a run if it is at least half full and its padding lies within the vector.
    void add(std::size_t begin, std::size_t end) {
      const std::int64_t first = elements_[begin].first;
      if (end - begin >= height / 2 && first >= 0 && first + static_cast<std::int64_t>(height) <= columns_) {
        Run& run = runs_.emplace_back(Run{static_cast<Column>(first), {}});
        for (std::size_t i = begin; i < end; ++i) run.values[elements_[i].lane] = elements_[i].value;
        return;
      }
      for (std::size_t i = begin; i < end; ++i) {
        const Element& element = elements_[i];
        if (length_[element.lane] == scattered_.size()) scattered_.emplace_back();
        Scattered& at = scattered_[length_[element.lane]++];
        at.columns[element.lane] = static_cast<Column>(element.first + static_cast<std::int64_t>(element.lane));
        at.values[element.lane] = element.value;
      }
    }

    std::int64_t rows_, columns_;
    std::vector<Element> elements_;
    std::vector<Run> runs_;
    std::vector<Scattered> scattered_;
    std::array<std::size_t, height> length_{};  // number of scattered elements of each row
  };

  HugePages memory_;
  std::size_t bytes_;
  std::vector<Slice> slices_;
  Values* values_;
  Columns* columns_;
  Column* firsts_;
};

// y = A x; y has the padded number of rows.
KIVIAT_EVERY_WIDTH
static void multiply(const RunMatrix& matrix, const double* x, double* y) {
  constexpr std::size_t parts = RunMatrix::height / Lanes::width;
  const RunMatrix::Values* values = matrix.values();
  const RunMatrix::Column* first = matrix.firsts();
  const RunMatrix::Columns* columns = matrix.columns();
  for (const RunMatrix::Slice& slice : matrix.slices()) {
    Lanes sum[parts] = {};
    for (std::uint32_t k = 0; k < slice.runs; ++k, ++values, ++first) {
      for (std::size_t part = 0; part < parts; ++part)
        sum[part] += Lanes(values->data() + part * Lanes::width) * Lanes(x + *first + part * Lanes::width);
    }
    for (std::uint32_t k = 0; k < slice.scattered; ++k, ++values, ++columns) {
      RunMatrix::Values gathered;
      for (std::size_t lane = 0; lane < RunMatrix::height; ++lane) gathered[lane] = x[(*columns)[lane]];
      for (std::size_t part = 0; part < parts; ++part)
        sum[part] += Lanes(values->data() + part * Lanes::width) * Lanes(gathered.data() + part * Lanes::width);
    }
    for (std::size_t part = 0; part < parts; ++part) sum[part].store(y + part * Lanes::width);
    y += RunMatrix::height;
  }
}

}  // namespace kiviat::app
