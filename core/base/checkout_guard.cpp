#include "core/base/checkout_guard.h"

#include <fmt/format.h>

#include "core/base/environment.h"
#include "core/base/paths.h"

namespace instr {

namespace {

// The path relative to the checkout, if it leads there and not into the measured tree.
std::optional<fs::path> place_in_project(const fs::path& path) {
  const auto project = variable_value(kProjectVariable);
  const auto tree = variable_value(kTreeVariable);
  if (!project || !tree || path.empty()) return std::nullopt;
  std::error_code error;
  const fs::path resolved = fs::weakly_canonical(path, error);
  if (error) return std::nullopt;
  const auto below = [&resolved](const fs::path& top) {
    std::error_code ignored;
    return place_below(resolved, fs::weakly_canonical(top, ignored));
  };
  return below(*tree) ? std::nullopt : below(*project);
}

}  // namespace

fs::path in_measured_tree(const fs::path& path) {
  const auto place = place_in_project(path);
  if (!place) return path;
  const fs::path tree = *variable_value(kTreeVariable);
  return *place == "." ? tree : (tree / *place).lexically_normal();
}

std::optional<fs::path> in_checkout(const fs::path& path) {
  const auto project = variable_value(kProjectVariable);
  const auto tree = variable_value(kTreeVariable);
  if (!project || !tree) return std::nullopt;
  std::error_code ignored;
  const auto place =
      place_below(fs::weakly_canonical(path, ignored), fs::weakly_canonical(*tree, ignored));
  return place ? std::optional(*project / *place) : std::nullopt;
}

Expected<void> check_measured(const std::string& what, const fs::path& path,
                              const std::string& advice) {
  if (!place_in_project(path)) return {};
  return fail(fmt::format("{} {}: {}", what, kAnotherIsMeasured, path.string()), advice);
}

}  // namespace instr
