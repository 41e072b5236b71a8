#include "core/run/earlier_results.h"

#include <algorithm>
#include <utility>

#include "core/base/format.h"
#include "core/results/fingerprint_check.h"
#include "core/run/dependencies.h"

namespace instr {

namespace {

// Takes a result of one of these variants.
void take(EarlierResults& earlier, Measurement measurement, const Variant& variant,
          const FindChange& find_change) {
  const std::string& key = variant.key;
  if (earlier.used.contains(key) || !is_final(measurement)) return;
  if (std::string change = find_change(measurement); !change.empty()) {
    earlier.changes[key] = std::move(change);
    return;
  }
  earlier.changes.erase(key);
  measurement.variant = variant;
  earlier.used.emplace(key, std::move(measurement));
}

}  // namespace

VariantsByKey variants_by_key(const std::vector<Variant>& variants) {
  VariantsByKey by_key;
  for (const Variant& variant : variants) by_key.emplace(variant.key, &variant);
  return by_key;
}

Expected<EarlierResults> read_earlier(const fs::path& file, const VariantsByKey& variants,
                                      const FindChange& find_change) {
  EarlierResults earlier;
  std::error_code ignored;
  if (!fs::exists(file, ignored) || fs::file_size(file, ignored) == 0) return earlier;
  TRY_ASSIGN(auto results, read_results(file, Incomplete::kAllowed));
  earlier.header = std::move(results.header);
  // Only the end of a file tells which of the measured files are not of the commit.
  if (!results.is_complete) earlier.header.commit.clear();
  for (Measurement& measurement : results.measurements) {
    const auto variant = variants.find(measurement.variant.key);
    if (variant == variants.end()) {
      earlier.others.push_back(std::move(measurement));
    } else {
      take(earlier, std::move(measurement), *variant->second, find_change);
    }
  }
  return earlier;
}

std::size_t take_in(EarlierResults& earlier, const fs::path& part, const VariantsByKey& variants,
                    const FindChange& find_change) {
  const std::size_t before = earlier.used.size();
  auto results = read_results(part, Incomplete::kAllowed);
  if (!results) return 0;  // a run has just begun it
  for (Measurement& measurement : results->measurements) {
    const auto variant = variants.find(measurement.variant.key);
    if (variant != variants.end()) {
      take(earlier, std::move(measurement), *variant->second, find_change);
    }
  }
  const std::size_t added = earlier.used.size() - before;
  if (added != 0) earlier.header.commit.clear();
  return added;
}

Expected<ResultsHeader> with_earlier(ResultsHeader header, const EarlierResults& earlier) {
  if (earlier.used.empty() && earlier.others.empty()) return header;
  if (earlier.header.commit != header.commit) header.commit.clear();
  for (const auto& [key, measurement] : earlier.used) {
    if (!is_on_cuda(measurement.variant)) continue;  // perhaps on another machine
    std::erase_if(header.fingerprint.entries,
                  [](const auto& entry) { return entry.first == kTimedGpu; });
    header.fingerprint.entries.emplace_back(kTimedGpu, measurement.depends_on.get(kDeviceModel));
    break;
  }
  if (earlier.others.empty()) return header;
  TRY_ASSIGN(const auto differences,
             check_fingerprints(earlier.header.fingerprint, header.fingerprint, {}));
  if (is_comparable(differences)) return header;
  return fail(
      fmt::format("this file also has {} that were measured differently: {}",
                  format_plural(earlier.others.size(), "result"), to_string(differences.front())),
      "name another file with --output, or remove this one");
}

}  // namespace instr
