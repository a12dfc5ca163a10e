// The sparse matrix of CG: A = Σ ω_i v_i v_iᵀ + (0.1 - shift) I. Each v_i is a sparse random vector whose element i is
// 1/2; the weights ω_i fall geometrically from 1 to 0.1. D. Bailey et al., The NAS Parallel Benchmarks, RNR-94-007,
// 1994, section 2.4. With the vectors as rows of V the sum is VᵀΩV, whose rows are computed one by one in a row of
// accumulators (F. G. Gustavson, "Two fast algorithms for sparse matrices", ACM TOMS 4(3), 1978).
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "bench/npb/matrix_grid.hpp"
#include "kernels/lcg.hpp"

namespace kiviat::npb {

class RandomMatrix {
 public:
  static constexpr double condition = 0.1;  // the smallest weight, and also the constant added to the diagonal

  // Approximate number of elements per row: every random element of a vector meets `nonzeros` others, and all diagonal
  // elements coincide.
  static double elements_of_row(int nonzeros) { return nonzeros * (nonzeros + 1) + 1; }
  // Bytes of a block of the matrix and of the vectors from which it is generated.
  static double bytes(std::int64_t order, int nonzeros, Range rows, Range columns) {
    const double all =
        static_cast<double>(rows.size() * (sizeof(Place) + sizeof(PlaceOfRow)) + columns.size() * sizeof(Element));
    return (nonzeros + 1) * all + static_cast<double>(order + 2 * rows.size()) * sizeof(std::int64_t);
  }

  // A block of the matrix. Each of the `order` vectors has `nonzeros` random elements besides element i.
  RandomMatrix(std::int64_t order, int nonzeros, double shift, Range rows, Range columns)
      : order_(order), nonzeros_(nonzeros), diagonal_(condition - shift), rows_(rows), columns_(columns) {
    make_vectors();
  }

  Range rows() const { return rows_; }
  Range columns() const { return columns_; }
  double elements_of_row() const { return elements_of_row(nonzeros_); }

  // Calls use(row, columns, values) for each row with its elements in the block, by ascending column. Rows and columns
  // are counted from the start of the block.
  template <class Use>
  void each_row(Use use) const {
    std::vector<double> sum(static_cast<std::size_t>(columns_.size()));
    std::vector<std::uint64_t> occupied((sum.size() + 63) / 64);
    std::vector<std::int32_t> found;
    std::vector<double> values;
    const auto add = [&](std::size_t column, double value) {
      sum[column] += value, occupied[column / 64] |= std::uint64_t{1} << column % 64;
    };
    for (std::int64_t row = 0; row < rows_.size(); ++row) {
      for (const Place& place : part(places_, row_, row))
        for (const Element& element : part(elements_, vector_, place.vector))
          add(static_cast<std::size_t>(element.column), place.weighted * element.value);
      if (const std::int64_t own = rows_.begin + row; columns_.contains(own))
        add(static_cast<std::size_t>(own - columns_.begin), diagonal_);
      found.clear(), values.clear();
      for (std::size_t word = 0; word < occupied.size(); ++word)
        for (; occupied[word]; occupied[word] &= occupied[word] - 1) {
          const std::size_t at = 64 * word + static_cast<std::size_t>(std::countr_zero(occupied[word]));
          found.push_back(static_cast<std::int32_t>(at)), values.push_back(sum[at]), sum[at] = 0;
        }
      use(row, std::as_const(found), std::as_const(values));
    }
  }

 private:
  struct Element {  // of a vector, within the columns of the block
    double value;
    std::int32_t column;
  };
  struct Place {  // element of a vector within a row of the block, multiplied by the vector's weight
    double weighted;
    std::int32_t vector;
  };
  struct PlaceOfRow {
    Place place;
    std::int64_t row;
  };

  template <class T>
  static std::span<const T> part(const std::vector<T>& all, const std::vector<std::int64_t>& first,
                                 std::int64_t index) {
    const auto begin = static_cast<std::size_t>(first[static_cast<std::size_t>(index)]);
    return std::span(all).subspan(begin, static_cast<std::size_t>(first[static_cast<std::size_t>(index) + 1]) - begin);
  }

  // Draws a value and then a position below the next power of two; draws both again if there is no such position or it
  // is taken. Elements in the block's columns are stored by vector, elements in its rows by row.
  void make_vectors() {
    Lcg random(Lcg::usual_seed(), 1);
    const double places = static_cast<double>(std::bit_ceil(static_cast<std::uint64_t>(order_)));
    std::vector<std::pair<std::int64_t, double>> vector;
    std::vector<PlaceOfRow> of_rows;
    vector_.assign(1, 0);
    for (std::int64_t i = 0; i < order_; ++i) {
      vector.clear();
      const auto find = [&](std::int64_t place) {
        return std::ranges::find(vector, place, [](const auto& element) { return element.first; });
      };
      while (vector.size() < static_cast<std::size_t>(nonzeros_)) {
        const double value = random();
        const auto place = static_cast<std::int64_t>(places * random());
        if (place < order_ && find(place) == vector.end()) vector.emplace_back(place, value);
      }
      if (const auto own = find(i); own != vector.end())
        own->second = 0.5;
      else
        vector.emplace_back(i, 0.5);
      const double weight = std::pow(condition, static_cast<double>(i) / static_cast<double>(order_));
      for (const auto& [place, value] : vector) {
        if (columns_.contains(place)) elements_.push_back({value, static_cast<std::int32_t>(place - columns_.begin)});
        if (rows_.contains(place))
          of_rows.push_back({{weight * value, static_cast<std::int32_t>(i)}, place - rows_.begin});
      }
      vector_.push_back(static_cast<std::int64_t>(elements_.size()));
    }
    sort_by_row(of_rows);
  }

  void sort_by_row(const std::vector<PlaceOfRow>& of_rows) {
    row_.assign(static_cast<std::size_t>(rows_.size()) + 1, 0);
    for (const PlaceOfRow& one : of_rows) ++row_[static_cast<std::size_t>(one.row) + 1];
    std::partial_sum(row_.begin(), row_.end(), row_.begin());
    places_.resize(of_rows.size());
    std::vector<std::int64_t> next = row_;
    for (const auto& [place, row] : of_rows)
      places_[static_cast<std::size_t>(next[static_cast<std::size_t>(row)]++)] = place;
  }

  std::int64_t order_;
  int nonzeros_;
  double diagonal_;
  Range rows_, columns_;
  std::vector<std::int64_t> vector_, row_;  // offsets of each vector and of each row
  std::vector<Element> elements_;
  std::vector<Place> places_;
};

}  // namespace kiviat::npb
