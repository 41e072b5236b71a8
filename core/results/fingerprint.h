// Everything that may legitimately change a count, by name: two runs whose fingerprints are equal
// must give equal counts.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/compile/libtorch.h"
#include "core/compile/toolchain.h"

namespace instr {

struct Fingerprint {
  using Entries = std::vector<std::pair<std::string, std::string>>;

  Entries entries;  // name and value, in the order shown
  Entries
      machine;  // kernel, CPU model: for people; not compared, since counts do not depend on them

  bool operator==(const Fingerprint& other) const { return entries == other.entries; }

  // The value of an entry, or "".
  std::string get(const std::string& name) const;
};

// From this side's findings, and from the worker's `hello` ("cpu_capability", "worker_hash", pinned
// settings, ...; except for fields that the first two know better). Without a Valgrind nothing is
// counted; "timed_..." fields are for times.
Fingerprint make_fingerprint(const LibTorch& libtorch, const Toolchain& toolchain,
                             const std::string& valgrind_version,
                             const std::map<std::string, std::string>& worker);

// {"libtorch_version": "2.13.0", ..., "machine": {"kernel": ...}}
nlohmann::ordered_json to_json(const Fingerprint& fingerprint);

}  // namespace instr
