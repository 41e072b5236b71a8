// Everything that an experiment's result depends on: a run resumes only with results for which it
// is still the same.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/experiments/experiment_record.h"
#include "core/measure/input_hashes.h"
#include "core/results/fingerprint.h"
#include "core/run/config.h"

namespace instr {

struct RunIdentity {
  ExperimentSetting setting = {};
  MeasureConfig config = {};
  Fingerprint session = {};                      // empty: no worker was started
  std::map<std::string, std::string> code = {};  // by key (LanguageSupport::identify)
  std::vector<std::string> environment = {};     // "NAME=value"
};

// Makes the fingerprint of an experiment: fields of the session that times depend on, the
// libraries' as a single one; "definition"; a "variable NAME" for each variable of the environment
// that reaches the worker, with a short hash that does not reveal its value. Without variables that
// only name a terminal, a login or a job.
Fingerprint identify(const Variant& variant, const RunIdentity& run);

// Adds what is known after measuring: a "file NAME" for each file that was included or imported.
Fingerprint with_files(Fingerprint fingerprint, const Measurement& measurement);

// Returns what a record's result depends on and is different now, "the file /home/me/backend.py";
// empty: nothing. Fields that are not known now, without a session, are not compared.
std::string find_change(const ExperimentRecord& record, const Variant& variant,
                        const RunIdentity& now, InputHashes& files);

// Returns "2 of 5 are measured again, since this has changed: the definition (2)". `changes`: of
// each; not empty.
std::string describe_changes(const std::vector<std::string>& changes, std::size_t count);

}  // namespace instr
