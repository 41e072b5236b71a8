// Reads the TOML file of `instr_bench experiment`.
#pragma once

#include "core/base/source_text.h"
#include "core/run/options.h"

namespace instr {

// Takes from the file what the command line left open. Every error at its place.
tl::expected<void, Errors> apply_experiment_file(const SourceText& source, Options& options);

}  // namespace instr
