// The results that a file has before a run that goes on with it.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/results/results_file.h"

namespace instr {

using VariantsByKey = std::map<std::string, const Variant*>;
VariantsByKey variants_by_key(const std::vector<Variant>& variants);

// Says what has changed since a result was measured; "": nothing.
using FindChange = std::function<std::string(const Measurement&)>;

struct EarlierResults {
  std::map<std::string, Measurement> used = {};  // key -> measurement for which nothing has changed
  std::map<std::string, std::string> changes = {};  // key of another of the variants -> change
  std::vector<Measurement> others = {};  // measurements of other variants; they stay in the file
  ResultsHeader header = {};             // the file's header; names no commit unless it is whole
};

// Reads the results of these variants, and of others. Nothing if there is no file. Those that are
// not final (is_final), or for which something has changed, are not used.
Expected<EarlierResults> read_earlier(const fs::path& file, const VariantsByKey& variants,
                                      const FindChange& find_change);

// Adds the results of these variants that another file has and this one lacks. Another run may be
// writing to that file. Returns how many were added.
std::size_t take_in(EarlierResults& earlier, const fs::path& part, const VariantsByKey& variants,
                    const FindChange& find_change);

// Makes the header of the file that has these results, too, from that of the new ones. A file has
// one fingerprint: an error, without a place, if results of other variants have a different one. It
// names a commit only if all are of it.
Expected<ResultsHeader> with_earlier(ResultsHeader header, const EarlierResults& earlier);

}  // namespace instr
