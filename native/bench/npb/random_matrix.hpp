// The sparse matrix of CG: A = Σ ω_i v_i v_iᵀ + (0.1 - shift) I, in which v_i is a sparse random vector whose element i is 1/2, and
// the weights fall geometrically from 1 to 0.1. D. Bailey et al., The NAS Parallel Benchmarks, RNR-94-007, 1994, section 2.4.
//
// With the vectors as rows of V it is VᵀΩV, and its rows are made one by one in a row of accumulators (F. G. Gustavson, "Two fast
// algorithms for sparse matrices", ACM TOMS 4(3), 1978).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "bench/npb/lcg.hpp"
#include "bench/npb/matrix_grid.hpp"

namespace kiviat::npb {

class RandomMatrix {
 public:
  static constexpr double condition = 0.1;  // the least weight, and what is added on the diagonal

  // Bytes of an object while it is there.
  static double bytes(std::int64_t order, int nonzeros) {
    const double elements = static_cast<double>(order) * (nonzeros + 1);
    return elements * (sizeof(Element) + sizeof(Place)) + static_cast<double>(order) * (2 * sizeof(std::int64_t) + 2 * sizeof(double));
  }

  // `nonzeros` random elements in each of `order` vectors, besides the one that is set.
  RandomMatrix(std::int64_t order, int nonzeros, double shift)
      : order_(order), nonzeros_(nonzeros), diagonal_(condition - shift), vector_(static_cast<std::size_t>(order) + 1), row_(vector_.size()) {
    make_vectors();
    make_rows();
  }

  // About as many: a random element of a vector meets as many others, and the diagonal all of them in one place.
  static double elements_of_row(int nonzeros) { return nonzeros * (nonzeros + 1) + 1; }
  double elements_of_row() const { return elements_of_row(nonzeros_); }

  // Calls use(row, columns, values) for each of `rows` with the elements that it has in `columns`, by column. Rows and columns
  // are counted from the first of these.
  template <class Use>
  void each_row(Range rows, Range columns, Use use) const {
    std::vector<double> sum(static_cast<std::size_t>(columns.size()));
    std::vector<std::uint64_t> occupied((sum.size() + 63) / 64);
    std::vector<std::int32_t> found;
    std::vector<double> values;
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      const auto add = [&](std::int64_t column, double value) {
        const auto at = static_cast<std::size_t>(column - columns.begin);
        sum[at] += value, occupied[at / 64] |= std::uint64_t{1} << at % 64;
      };
      for (const Place& place : part(places_, row_, row))
        for (const Element& element : part(elements_, vector_, place.vector))
          if (columns.contains(element.column)) add(element.column, place.weighted * element.value);
      if (columns.contains(row)) add(row, diagonal_);
      found.clear(), values.clear();
      for (std::size_t word = 0; word < occupied.size(); ++word)
        for (; occupied[word]; occupied[word] &= occupied[word] - 1) {
          const std::size_t at = 64 * word + static_cast<std::size_t>(std::countr_zero(occupied[word]));
          found.push_back(static_cast<std::int32_t>(at)), values.push_back(sum[at]), sum[at] = 0;
        }
      use(row - rows.begin, std::as_const(found), std::as_const(values));
    }
  }

 private:
  struct Element {  // of a vector
    double value;
    std::int32_t column;
  };
  struct Place {  // of a row of the matrix: an element there, times the weight of its vector
    double weighted;
    std::int32_t vector;
  };

  template <class T>
  static std::span<const T> part(const std::vector<T>& all, const std::vector<std::int64_t>& first, std::int64_t index) {
    const auto begin = static_cast<std::size_t>(first[static_cast<std::size_t>(index)]);
    return std::span(all).subspan(begin, static_cast<std::size_t>(first[static_cast<std::size_t>(index) + 1]) - begin);
  }

  // A value, then a place among the next power of two, again where there is no such column or it is taken.
  void make_vectors() {
    Lcg random(Lcg::usual_seed, 1);
    const double places = static_cast<double>(std::bit_ceil(static_cast<std::uint64_t>(order_)));
    elements_.reserve(static_cast<std::size_t>(order_ * (nonzeros_ + 1)));
    for (std::int64_t i = 0; i < order_; ++i) {
      const std::size_t begin = elements_.size();
      const auto find = [&](std::int64_t column) {
        std::size_t at = begin;
        while (at < elements_.size() && elements_[at].column != column) ++at;
        return at;
      };
      while (elements_.size() - begin < static_cast<std::size_t>(nonzeros_)) {
        const double value = random();
        const auto column = static_cast<std::int64_t>(places * random());
        if (column < order_ && find(column) == elements_.size()) elements_.push_back({value, static_cast<std::int32_t>(column)});
      }
      if (const std::size_t own = find(i); own < elements_.size()) elements_[own].value = 0.5;
      else elements_.push_back({0.5, static_cast<std::int32_t>(i)});
      vector_[static_cast<std::size_t>(i) + 1] = static_cast<std::int64_t>(elements_.size());
    }
  }

  // The same elements by column of V, which is row of A.
  void make_rows() {
    for (const Element& element : elements_) ++row_[static_cast<std::size_t>(element.column) + 1];
    for (std::size_t row = 1; row < row_.size(); ++row) row_[row] += row_[row - 1];
    places_.resize(elements_.size());
    std::vector<std::int64_t> next = row_;
    for (std::int64_t i = 0; i < order_; ++i) {
      const double weight = std::pow(condition, static_cast<double>(i) / static_cast<double>(order_));
      for (const Element& element : part(elements_, vector_, i))
        places_[static_cast<std::size_t>(next[static_cast<std::size_t>(element.column)]++)] = {weight * element.value, static_cast<std::int32_t>(i)};
    }
  }

  std::int64_t order_;
  int nonzeros_;
  double diagonal_;
  std::vector<std::int64_t> vector_, row_;  // where each begins
  std::vector<Element> elements_;
  std::vector<Place> places_;
};

}  // namespace kiviat::npb
