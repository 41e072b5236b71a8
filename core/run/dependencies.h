// Everything that a result depends on: a run resumes only with results for which it is still the
// same.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/measure/input_hashes.h"
#include "core/results/fingerprint.h"
#include "core/results/measurement.h"
#include "core/run/config.h"

namespace instr {

// The common properties of the results of a run.
struct RunIdentity {
  MeasureConfig config = {};
  std::string libtorch = {};                     // its version
  Fingerprint session = {};                      // empty: no worker was started
  std::string device_model = {};                 // "Intel(R) Xeon(R) ..."
  std::string gpu_model = {};                    // "NVIDIA H200"; empty: unknown
  std::map<std::string, std::string> code = {};  // key -> identity (LanguageSupport::identify)
  std::vector<std::string> environment = {};     // "NAME=value"
};

// Lists what a result depends on: settings; fields of the session that times depend on, those of
// the libraries as a single one; "definition"; a "variable NAME" for each variable of the
// environment that reaches the worker, with a short hash that does not reveal its value. Without
// variables that only name a terminal, a login or a job.
Fingerprint list_dependencies(const Variant& variant, const RunIdentity& run);

// Adds what is known after measuring: a "file NAME" for each file that was included or imported.
Fingerprint with_files(Fingerprint dependencies, const Measurement& measurement);

// Returns what a result depends on and is different now, "the file /home/me/backend.py"; empty:
// nothing. Fields that are not known now, without a session, are not compared.
std::string find_change(const Measurement& measurement, const Variant& variant,
                        const RunIdentity& now, InputHashes& files);

// Returns false if measuring again may give another result although nothing seems to have changed:
// the worker was lost, or it is not known which files were read, also by a compiler that failed.
bool is_final(const Measurement& measurement);

// Returns "2 of 5 are measured again, since this has changed: the definition (2)". `changes`: of
// each; not empty.
std::string describe_changes(const std::vector<std::string>& changes, std::size_t count);

}  // namespace instr
