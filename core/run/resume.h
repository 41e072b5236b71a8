// Everything that a result depends on: a run resumes only with results for which it is still the
// same.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/measure/loaded_files.h"
#include "core/results/fingerprint.h"
#include "core/results/measurement.h"
#include "core/results/results_file.h"
#include "core/run/config.h"

namespace instr {

// The common properties of the results of a run.
struct RunIdentity {
  MeasureConfig config = {};
  std::string libtorch = {};                     // "2.13.0"
  Fingerprint session = {};                      // empty: no worker was started
  std::string device_model = {};                 // "Intel(R) Xeon(R) ..."
  std::string gpu_model = {};                    // "NVIDIA H200"; empty: unknown
  std::map<std::string, std::string> code = {};  // key -> identity (LanguageSupport::identify)
  std::vector<std::string> environment = {};     // "NAME=value"
};

// Lists what a result depends on: settings; fields of the session that its kind of values depends
// on, those of the libraries as a single one; "definition"; a "variable NAME" for each variable of
// the environment that reaches the worker, with a short hash that does not reveal its value.
// Without variables that only name a terminal, a login or a job.
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

// The results that a file has before a run that goes on with it.

using VariantsByKey = std::map<std::string, const Variant*>;
VariantsByKey variants_by_key(const std::vector<Variant>& variants);

// Says what has changed since a result was measured; "": nothing.
using FindChange = std::function<std::string(const Measurement&)>;

struct EarlierResults {
  std::map<std::string, Measurement> used = {};  // key -> measurement for which nothing has changed
  std::map<std::string, std::string> changes = {};  // key of another of the variants -> change
  // key -> measurement that has changed or lacks a part; it stays in the file until the new one is
  // there
  std::map<std::string, Measurement> outdated = {};
  std::vector<Measurement> others = {};  // measurements of other variants; they stay in the file
  ResultsHeader header = {};             // the file's header; names no commit unless it is whole
};

// A run that goes on with earlier results.
struct Resumption {
  MeasureConfig config;
  VariantsByKey variants;
  FindChange find_change;
};

// Reads the results of its variants, and of others, with their profiles. Nothing if there is no
// file. Those that lack a part, are not final (is_final), or for which something has changed, are
// not used.
Expected<EarlierResults> read_earlier(const fs::path& file, const Resumption& resumption);

// Adds the results of these variants that another file has and this one lacks. Another run may be
// writing to that file. Returns how many were added.
std::size_t take_in(EarlierResults& earlier, const fs::path& part, const Resumption& resumption);

// Lists the measurements that stay in the file before the new ones: those of other variants, and
// the outdated ones of `rest`, which are measured again.
std::vector<Measurement> list_staying(const EarlierResults& earlier,
                                      const std::vector<Variant>& rest);

// Lists the variants that are not among the earlier results.
std::vector<Variant> list_missing(const std::vector<Variant>& variants,
                                  const EarlierResults& earlier);

// Makes the header of the file that has these results, too, from that of the new ones. A file has
// one fingerprint: an error, without a place, if results of other variants have a different one. It
// names a commit only if all are of it, and the earlier files that are not of that commit.
Expected<ResultsHeader> with_earlier(ResultsHeader header, const EarlierResults& earlier);

}  // namespace instr
