// The cells of a run's tables: what is shown of a benchmark's variants.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/definitions/variant.h"
#include "core/report/document.h"
#include "core/results/measurement.h"

namespace instr {

// A measurement's slot in the row of its benchmark.
struct Slot {
  Language language;
  Backend backend;
  Autograd autograd;

  auto operator<=>(const Slot&) const = default;
};

std::string name_slot(const Slot& slot);

using Variants = std::map<Slot, const Measurement*>;

// Measurements whose variants only differ in their slot.
struct Bench {
  VariantName name;  // the first variant's name
  Variants variants = {};
};

// Groups measurements, which must outlive the result, in the order of each benchmark's first.
std::vector<Bench> collect_benches(const std::vector<Measurement>& measurements);

// Null: there is none, or it has no values.
const Measurement* find(const Variants& variants, const Slot& slot);
const Counted* counted_of(const Measurement* measurement);

// A value in the unit of its metric: "1,234", "1.23 ms".
std::string format_metric(const std::string& metric, double value);

DocumentCell metric_cell(const Counted& counted, const std::string& metric);
// The cell of a variant without values; empty if there is no such variant.
DocumentCell empty_cell(const Measurement* measurement);
// The cell of one variant, with the marks of its count, or with its speed-up over eager.
DocumentCell variant_cell(const Variants& variants, const Slot& slot, const char* metric);
// The fastest backend of each language that has several: for forward, or else with backward.
DocumentCell fastest_cell(const Variants& variants);
DocumentCell steady_cell(const Variants& variants);

}  // namespace instr
