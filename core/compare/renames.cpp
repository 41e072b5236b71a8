#include "core/compare/renames.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>

#include "core/definitions/variant.h"
#include "core/values/attribution.h"

namespace instr {

namespace {

// With more counts that near, none would be the only one.
constexpr std::size_t kMostNear = 20;

// What must be equal of two names of one benchmark.
auto kind_of(const std::string& key) {
  const Variant variant = variant_of_key(key);
  return std::tuple(variant.language, variant.runtime, variant.autograd, variant.threads,
                    variant.device);
}

// One side of the pairs.
struct Candidate {
  NamedCount count;
  decltype(kind_of("")) kind;
  bool is_paired = false;
  std::size_t alike = 0;         // how many of the other side
  Candidate* partner = nullptr;  // the last of them
};

std::vector<Candidate> candidates_of(const std::vector<NamedCount>& counts) {
  std::vector<Candidate> all;
  for (const NamedCount& one : counts) all.push_back({one, kind_of(one.key)});
  return all;
}

// How much may differ.
struct Nearness {
  double change;
  double moves;
};

class Pairing {
 public:
  Pairing(std::vector<Candidate>& gone, std::vector<Candidate>& come, const FunctionsOf& before,
          const FunctionsOf& after)
      : gone_(gone), come_(come), before_(before), after_(after) {
    std::sort(come_.begin(), come_.end(), [](const Candidate& left, const Candidate& right) {
      return left.count.ir < right.count.ir;
    });
  }

  Expected<void> pair(const Nearness& nearness) {
    for (auto* side : {&gone_, &come_}) {
      for (Candidate& one : *side) one.alike = 0;
    }
    for (Candidate& one : gone_) {
      if (one.is_paired) continue;
      if (auto found = find_alike(one, nearness); !found) return found;
    }
    for (Candidate& one : gone_) {
      if (one.is_paired || one.alike != 1 || one.partner->alike != 1) continue;
      one.is_paired = one.partner->is_paired = true;
    }
    return {};
  }

 private:
  Expected<void> find_alike(Candidate& one, const Nearness& nearness) {
    const double most = one.count.ir * nearness.change;
    auto first = std::lower_bound(
        come_.begin(), come_.end(), one.count.ir - most,
        [](const Candidate& other, double least) { return other.count.ir < least; });
    std::vector<Candidate*> near;
    for (; first != come_.end() && first->count.ir <= one.count.ir + most; ++first) {
      if (first->kind == one.kind && !first->is_paired) near.push_back(&*first);
    }
    for (Candidate* other : near) {
      auto alike = near.size() > kMostNear ? Expected<bool>(true)
                                           : is_alike(one.count, other->count, nearness);
      if (!alike) return tl::unexpected(alike.error());
      if (!*alike) continue;
      ++one.alike;
      ++other->alike;
      one.partner = other;
      other->partner = &one;
    }
    return {};
  }

  Expected<bool> is_alike(const NamedCount& before, const NamedCount& after,
                          const Nearness& nearness) {
    auto functions_before = before_(before.key);
    if (!functions_before) return tl::unexpected(functions_before.error());
    auto functions_after = after_(after.key);
    if (!functions_after) return tl::unexpected(functions_after.error());
    if (functions_before->empty() || functions_after->empty()) return false;
    const Attribution moved =
        attributor_.attribute(*functions_before, *functions_after, after.ir - before.ir);
    double sum = std::fabs(moved.unexplained);
    for (const FunctionChange& part : moved.parts) sum += std::fabs(part.change);
    return sum <= nearness.moves * std::max(before.ir, after.ir);
  }

  std::vector<Candidate>& gone_;
  std::vector<Candidate>& come_;
  const FunctionsOf& before_;
  const FunctionsOf& after_;
  Attributor attributor_{{.most_parts = std::numeric_limits<std::size_t>::max()}};
};

}  // namespace

Expected<std::vector<Rename>> find_renames(const std::vector<NamedCount>& gone,
                                           const std::vector<NamedCount>& come,
                                           const FunctionsOf& functions_before,
                                           const FunctionsOf& functions_after) {
  std::vector<Rename> renames;
  if (gone.empty() || come.empty() || !functions_before || !functions_after) return renames;
  std::vector<Candidate> before = candidates_of(gone);
  std::vector<Candidate> after = candidates_of(come);
  Pairing pairing(before, after, functions_before, functions_after);
  for (const Nearness& nearness : {Nearness{0, 0}, {kMostRenamedChange, kMostRenamedMoves}}) {
    if (auto paired = pairing.pair(nearness); !paired) return tl::unexpected(paired.error());
  }
  for (const Candidate& one : before) {
    if (one.is_paired) renames.push_back({one.count.key, one.partner->count.key});
  }
  return renames;
}

}  // namespace instr
