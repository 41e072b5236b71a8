#include "core/results/fingerprint.h"
#include "tests/golden.h"
#include "tests/testing.h"

namespace instr::fingerprint_check_test {
namespace {

using namespace testing;

Fingerprint fingerprint() {
  Fingerprint made;
  made.entries = {{"libtorch_version", "2.13.0"}, {"libtorch_build_id", "b706"},
                  {"compiler", "clang 14"},       {"flags", "-O2"},
                  {"link_flags", "-ltorch"},      {"valgrind", "valgrind-3.19.0"},
                  {"cpu_capability", "AVX2"},     {"worker_version", "1"}};
  made.machine = {{"kernel", "Linux 6"}, {"cpu_model", "EPYC"}};
  return made;
}

Fingerprint with(const std::string& name, const std::string& value) {
  Fingerprint made = fingerprint();
  for (auto* entries : {&made.entries, &made.machine}) {
    for (auto& [entry, old] : *entries) {
      if (entry == name) old = value;
    }
  }
  return made;
}

TEST(FingerprintCheck, EachFieldMustMatchUnlessItMayVary) {
  for (const auto& [name, value] : fingerprint().entries) {
    auto differences = check_fingerprints(fingerprint(), with(name, "other"), {});
    ASSERT_TRUE(differences);
    EXPECT_EQ(*differences,
              (std::vector<FieldDifference>{{name, value, "other", FieldClass::kMustMatch}}));
    EXPECT_FALSE(is_comparable(*differences));
    differences = check_fingerprints(fingerprint(), with(name, "other"), {name});
    ASSERT_TRUE(differences);
    ASSERT_EQ(differences->size(), 1U);
    EXPECT_EQ(differences->front().field_class, FieldClass::kMayVary);
    EXPECT_TRUE(is_comparable(*differences));
  }
}

TEST(FingerprintCheck, AGroupFreesItsFieldsAndNoOthers) {
  const std::map<std::string, std::vector<std::string>> groups{
      {"libtorch", {"libtorch_version", "libtorch_build_id", "flags", "link_flags"}},
      {"compiler", {"compiler", "flags"}},
      {"valgrind", {"valgrind"}},
      {"python", {}},  // not among these
      {"cpu", {"cpu_capability"}},
      {"worker", {"worker_version"}},
      {"machine", {}},        // only of times
      {"cuda_stand_in", {}},  // missing here, as is the next
      {"libraries", {}}};
  EXPECT_EQ(vary_groups().size(), groups.size());
  for (const auto& [group, fields] : groups) {
    for (const auto& [name, value] : fingerprint().entries) {
      auto differences = value_of(check_fingerprints(fingerprint(), with(name, "other"), {group}));
      bool is_free = std::find(fields.begin(), fields.end(), name) != fields.end();
      EXPECT_EQ(is_comparable(differences), is_free) << group << " " << name;
    }
  }
}

TEST(FingerprintCheck, CheckVaryRefusesUnknownNames) {
  const Fingerprint before = fingerprint();
  for (const char* name :
       {"libtorch", "valgrind", "cuda_stand_in", "link_flags", "libnew.so", "library libc.so.6"}) {
    EXPECT_TRUE(check_vary({name}, before)) << name;
  }
  EXPECT_EQ(error_text(check_vary({"cpu", "valgrnd"}, before)),
            "`valgrnd` is not a fingerprint field that may vary: did you mean `valgrind`?");
}

TEST(FingerprintCheck, TheMachineInformsAndComesLast) {
  Fingerprint other = with("kernel", "Linux 7");
  other.entries[0].second = "1.13.1";
  other.entries[2].second = "g++ 12";
  auto differences = value_of(check_fingerprints(fingerprint(), other, {"libtorch"}));
  ASSERT_EQ(differences.size(), 3U);
  EXPECT_EQ(differences[0].name, "compiler");
  EXPECT_EQ(differences[1].field_class, FieldClass::kMayVary);
  EXPECT_EQ(differences[2].field_class, FieldClass::kInformative);
  differences.erase(differences.begin());
  EXPECT_TRUE(is_comparable(differences));
}

TEST(FingerprintCheck, AFieldOfASingleSideDiffersEvenIfEmpty) {
  Fingerprint more = fingerprint();
  more.entries.emplace_back("openmp", "");
  auto differences = value_of(check_fingerprints(fingerprint(), more, {}));
  EXPECT_EQ(differences,
            (std::vector<FieldDifference>{{"openmp", std::nullopt, "", FieldClass::kMustMatch}}));
  EXPECT_EQ(to_string(differences.front()), "openmp: not recorded, then empty");
}

TEST(FingerprintCheck, ResultsWithoutAFingerprintAreReported) {
  EXPECT_FALSE(is_comparable(value_of(check_fingerprints({}, {}, {}))));
  EXPECT_EQ(check_fingerprints({}, fingerprint(), {})->size(), 10U);
}

TEST(FingerprintCheck, FieldsOfTimesMatterIfBothHaveTimes) {
  const Fingerprint counts{{{"libtorch_version", "2.13.0"}, {"valgrind", "3.19"}}, {}};
  const Fingerprint times{{{"libtorch_version", "2.13.0"}, {"timed_cpu_model", "A"}}, {}};
  Fingerprint both = counts;
  both.entries.emplace_back("timed_cpu_model", "B");
  EXPECT_TRUE(check_fingerprints(counts, both, {})->empty());
  EXPECT_TRUE(check_fingerprints(both, counts, {})->empty());
  EXPECT_FALSE(is_comparable(*check_fingerprints(times, both, {})));
  EXPECT_TRUE(is_comparable(*check_fingerprints(times, both, {"machine"})));
  // Files without fingerprints.
  const Fingerprint cut{{{"libtorch_version", "2.13.0"}}, {}};
  EXPECT_FALSE(is_comparable(*check_fingerprints(cut, counts, {})));
  EXPECT_FALSE(is_comparable(*check_fingerprints(cut, times, {})));
}

Fingerprint with_libraries(Fingerprint::Entries libraries) {
  Fingerprint made = fingerprint();
  made.entries.insert(made.entries.end(), libraries.begin(), libraries.end());
  return made;
}

TEST(FingerprintCheck, OnlyDifferingLibrariesAreNamed) {
  const auto before = with_libraries({{"library libblas.so.3", "aa"}, {"library libc.so.6", "cc"}});
  const auto after = with_libraries({{"library libblas.so.3", "bb"}, {"library libc.so.6", "cc"}});
  auto differences =
      value_of(check_fingerprints(before, after, {"libtorch", "compiler", "worker"}));
  ASSERT_EQ(differences.size(), 1U);
  EXPECT_EQ(to_string(differences[0]), "library libblas.so.3: aa, then bb");
  EXPECT_FALSE(is_comparable(differences));
  EXPECT_EQ(suggest_vary(differences), std::vector<std::string>{"libraries"});
  EXPECT_TRUE(is_comparable(*check_fingerprints(before, after, {"libraries"})));
  EXPECT_TRUE(is_comparable(*check_fingerprints(before, after, {"library libblas.so.3"})));
}

TEST(FingerprintCheck, ADifferentLibTorchExplainsItsLibraries) {
  const auto before = with_libraries({{"library libblas.so.3", "aa"},
                                      {"library libc.so.6", "cc"},
                                      {"libtorch_library libc10.so", "dd"}});
  auto after = with_libraries({{"library libc.so.6", "cc"},
                               {"libtorch_library libc10.so", "ee"},
                               {"libtorch_library libgomp-1.so.1", "ff"}});
  after.entries[0].second = "1.13.1";
  auto differences = value_of(check_fingerprints(before, after, {}));
  EXPECT_EQ(differences.size(), 4U);
  EXPECT_EQ(suggest_vary(differences), std::vector<std::string>{"libtorch"});
  EXPECT_TRUE(is_comparable(*check_fingerprints(before, after, {"libtorch"})));
  after = with_libraries({{"library libc.so.6", "other"}, {"libtorch_library libc10.so", "ee"}});
  EXPECT_FALSE(is_comparable(*check_fingerprints(before, after, {"libtorch"})));
}

TEST(FingerprintCheck, MissingLibrariesAreReportedOnce) {
  const auto after = with_libraries({{"library libblas.so.3", "aa"}, {"library libc.so.6", "cc"}});
  auto differences = value_of(check_fingerprints(fingerprint(), after, {"libtorch"}));
  ASSERT_EQ(differences.size(), 1U);
  EXPECT_EQ(to_string(differences[0]), "libraries: not recorded, then 2 recorded");
  EXPECT_FALSE(is_comparable(differences));
  EXPECT_TRUE(is_comparable(*check_fingerprints(fingerprint(), after, {"libraries"})));
  // The timing worker's libraries matter if both have times.
  auto timed = after;
  timed.entries.emplace_back("timed_cpu_model", "A");
  timed.entries.emplace_back("timed_library libc.so.6", "other");
  EXPECT_TRUE(check_fingerprints(after, timed, {})->empty());
}

TEST(FingerprintCheck, ListsTheMostRelevantLibraries) {
  Fingerprint::Entries libraries{{"library libX11.so.6", "aa"},
                                 {"library libblas.so.3", "aa"},
                                 {"library libc.so.6", "aa"},
                                 {"library libstdc++.so.6", "aa"},
                                 {"libtorch_library libc10.so", "aa"}};
  const auto lines_for = [&libraries](FieldClass field_class) {
    Fingerprint::Entries after = libraries;
    for (auto& [name, value] : after) value = "bb";
    std::erase_if(after, [](const auto& entry) { return entry.first == "library libX11.so.6"; });
    Fingerprint now = with_libraries(after);
    now.entries[5].second = "valgrind-3.24.0";
    std::string text;
    for (const std::string& line : list_differences(
             check_fingerprints(with_libraries(libraries), now, {}).value(), field_class)) {
      text += line + "\n";
    }
    return text;
  };
  EXPECT_GOLDEN("gate/differences_of_few_libraries.txt", lines_for(FieldClass::kMustMatch));
  EXPECT_TRUE(lines_for(FieldClass::kMayVary).empty());
  for (int i = 0; i < 6; ++i) {
    libraries.insert(libraries.begin(), {"library libother" + std::to_string(i) + ".so", "aa"});
  }
  EXPECT_GOLDEN("gate/differences_of_many_libraries.txt", lines_for(FieldClass::kMustMatch));
}

TEST(FingerprintCheck, SuggestsANearNameForAnUnknownName) {
  auto differences = check_fingerprints(fingerprint(), fingerprint(), {"libtorhc"});
  ASSERT_FALSE(differences);
  EXPECT_EQ(differences.error().what, "`libtorhc` is not a fingerprint field that may vary");
  EXPECT_EQ(differences.error().advice, "did you mean `libtorch`?");
}

TEST(FingerprintCheck, TextIsSafeToShow) {
  FieldDifference difference{"a\x1b[31m", "x\ny", "z", FieldClass::kMustMatch};
  std::string text = to_string(difference);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_HAS(text, "x y, then z");
}

}  // namespace
}  // namespace instr::fingerprint_check_test
