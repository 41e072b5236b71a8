// Real compilation, with every compiler on this machine, but without LibTorch.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "core/compile/compiled_variant.h"
#include "core/compile/cpp/compile_cpp.h"
#include "tests/testing.h"
#include "worker/abi.h"

namespace instr::testing {

inline Variant variant(const std::string& key, const std::string& setup, const std::string& stmt) {
  Variant result;
  result.key = key;
  result.where = {"a.toml", 3, 1};
  result.setups = {Text{setup, {"a.toml", 4, 10}}};
  result.stmt = Text{stmt, {"a.toml", 5, 9}};
  return result;
}

struct CompileOutcome {
  std::map<std::string, CompiledVariant> compiled;
  std::map<std::string, std::string> failed;
};

class CompileTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto toolchain = find_toolchain(GetParam(), LibTorch{});
    if (!toolchain) GTEST_SKIP() << to_string(toolchain.error());
    options_.toolchain = *toolchain;
    options_.toolchain.link_flags.clear();
    options_.jobs = 2;
    options_.sources = folder_.path() / "sources";
    fs::copy(fixture("compile/sources"), options_.sources, fs::copy_options::recursive);
    fs::copy(fs::path(INSTR_SOURCE_DIR) / "worker/abi.h", options_.sources / "worker/abi.h");
  }

  CompileOutcome compile_all(const std::vector<Variant>& variants) {
    CompileOutcome outcome;
    auto cache = value_of(Cache::open(true));
    auto done = compile(variants, options_, cache,
                        [&](UnitResult result) {
                          for (auto& one : result.compiled) outcome.compiled[one.variant.key] = one;
                          for (auto& one : result.failed) {
                            const auto& failure = std::get<Failure>(one.outcome);
                            EXPECT_EQ(failure.kind, FailureKind::kCompileError);
                            outcome.failed[one.variant.key] = failure.message;
                          }
                        },
                        {});
    EXPECT_TRUE(done) << to_string(done.error());
    EXPECT_EQ(outcome.compiled.size() + outcome.failed.size(), variants.size());
    return outcome;
  }

  std::size_t units_in_cache() {
    std::size_t found = 0;
    for (const auto& entry : fs::directory_iterator(folder_.path() / "cache/artefacts")) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("unit-") && name.ends_with(".so")) ++found;
    }
    return found;
  }

  TemporaryFolder folder_;
  ScopedVariable cache_{"INSTR_BENCH_CACHE", folder_ / "cache"};
  CompileOptions options_;
};

// Runs a compiled snippet for two blocks of three iterations.
inline int blocks_left = 0;
inline void run(const CompiledVariant& compiled, const std::string& symbol) {
  void* unit = ::dlopen(compiled.unit.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(unit, nullptr) << ::dlerror();
  auto snippet = reinterpret_cast<instr_snippet>(::dlsym(unit, symbol.c_str()));
  ASSERT_NE(snippet, nullptr);
  blocks_left = 2;
  instr_context context{INSTR_ABI_VERSION, 1,
                        [](instr_context*) -> uint64_t { return blocks_left-- > 0 ? 3 : 0; },
                        nullptr, nullptr};
  snippet(&context);
  EXPECT_EQ(blocks_left, -1);
}

#define INSTANTIATE_WITH_COMPILERS(suite)                                                    \
  INSTANTIATE_TEST_SUITE_P(Compilers, suite, ::testing::Values("clang++", "g++"),            \
                           [](const auto& compiler) {                                        \
                             return std::string(compiler.param)[0] == 'c' ? "clang" : "gcc"; \
                           })

}  // namespace instr::testing
