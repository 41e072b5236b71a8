// Whether counts of two runs may be compared: their fingerprints, field by field.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/definitions/languages.h"
#include "core/results/fingerprint.h"

namespace instr {

enum class FieldClass {
  kMustMatch,    // counts differ for this reason alone: a comparison would be meaningless
  kMayVary,      // the subject of the comparison
  kInformative,  // counts do not depend on it
};

struct FieldDifference {
  std::string name;
  std::optional<std::string> before;  // nothing if that run does not say
  std::optional<std::string> after;
  FieldClass field_class = FieldClass::kMustMatch;

  bool operator==(const FieldDifference&) const = default;
};

// Names that `vary` takes besides those of single fields: "libtorch" (its version and build, and
// with them the flags, the libraries linked, its own libraries and those that only one side loads),
// "compiler" (with the flags, and libraries that only one side loads), "valgrind", "cpu" (the
// features and the capability chosen by them), "worker", "libraries" (all that are loaded).
const std::vector<std::string>& vary_groups();

// The fields that differ: those that must match first, then in the order of the fingerprints. If
// neither run says anything there is one difference, "fingerprint", that must not be ignored. An
// error if `vary` names neither a group nor a field of the two.
Expected<std::vector<FieldDifference>> check_fingerprints(const Fingerprint& before,
                                                          const Fingerprint& after,
                                                          const std::vector<std::string>& vary);

// An error if one of these names is certainly wrong, before the other side is known: it is neither
// a group, nor a field of this side, nor the name of a library.
Expected<void> check_vary(const std::vector<std::string>& vary, const Fingerprint& before);

struct MeasuredAs {
  bool is_timed = false;  // else counted
  Language language = Language::kCpp;
};

// The fields that determine such a value: two runs for which they are equal may be compared, and
// give equal counts of equal code. Without those that `vary` frees.
Expected<Fingerprint::Entries> class_of(const Fingerprint& fingerprint, const MeasuredAs& as,
                                        const std::vector<std::string>& vary);

// The fewest names for `vary` that would free all fields that must match.
std::vector<std::string> vary_for(const std::vector<FieldDifference>& differences);

// Whether no difference is of a field that must match.
bool is_comparable(const std::vector<FieldDifference>& differences);

// "compiler: g++ 12.2.0, then clang 14.0.6"; safe to show.
std::string to_string(const FieldDifference& difference);

// A line for each difference of this class, for people. Of many libraries the C and C++ languages'
// own come first, then LibTorch's; the last line says how many more there are.
std::vector<std::string> lines_of(const std::vector<FieldDifference>& differences,
                                  FieldClass field_class);

}  // namespace instr
