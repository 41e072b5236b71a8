#include "core/measure/parse_reply.h"

#include <fmt/format.h>
#include <signal.h>

#include "core/definitions/metrics.h"
#include "tests/testing.h"

namespace instr::parse_reply_test {
namespace {

wire::Message measured() {
  return {"measured",
          {{"iterations", "100"},
           {"warmup", "10"},
           {"steady", "1"},
           {"blocks", "2"},
           {"ir_1", "631229"},
           {"ir_2", "631229"},
           {"loop_ir", "2"},
           {"loop_entry_ir", "29"},
           {"allocs_1", "400"},
           {"allocs_2", "400"},
           {"alloc_bytes_1", "36800"},
           {"alloc_bytes_2", "36800"},
           {"peak_bytes", "368"},
           {"profile", "/tmp/x"}}};
}

Profile profile() {
  Profile profile;
  profile.events = {"Dr", "Ir"};
  profile.functions = {{"f", "/usr/lib/a.so", {9, 100}, 25},
                       {"g", "/usr/lib/a.so", {9, 700}, 75},
                       {"f", "/opt/lib/a.so", {9, 250}, 100},
                       {"f", "/usr/lib/b.so", {9, 100}, 0},
                       {"idle", "/usr/lib/b.so", {9, 0}, 50}};
  return profile;
}

const Failure& failure(const Outcome& outcome) { return std::get<Failure>(outcome); }

Counted counted(const wire::Message& reply, const Variant& variant = {},
                const Profile* given = nullptr) {
  return std::get<Counted>(parse_reply(reply, variant, given));
}

// Formats the costs: "g [a.so] 14 in 1.5 calls".
std::vector<std::string> shown(const std::vector<FunctionCost>& functions) {
  std::vector<std::string> lines;
  for (const FunctionCost& one : functions) {
    lines.push_back(
        fmt::format("{} [{}] {} in {} calls", one.function, one.object, one.ir, one.calls));
  }
  return lines;
}

TEST(ParseReply, AProfileThatDiffersFromTheCountIsRefused) {
  auto reply = measured();
  auto given = profile();
  reply.fields["ir_1"] = reply.fields["ir_2"] = "1150";
  EXPECT_FALSE(counted(reply, {}, &given).functions.empty());
  given.functions.front().self[1] += 1;
  const auto outcome = parse_reply(reply, {}, &given);
  EXPECT_EQ(failure(outcome).kind, FailureKind::kNoProfile);
  EXPECT_HAS(failure(outcome).message, "1151");
}

// Callgrind 3.19 on LibTorch 2.13's mm of 4x4 with MKL: 32 vmaskmov of 16 reads and 16 writes.
TEST(ParseReply, AccessesCountedAsInstructionsAreListedSeparately) {
  auto reply = measured();
  reply.fields["iterations"] = "24";
  reply.fields["ir_1"] = reply.fields["ir_2"] = "137309";
  reply.fields["double_ir"] = "274589";
  reply.fields["events"] = "Ir Dr Dw";
  reply.fields["events_2"] = "137309 41527 26364";
  Profile given;
  given.events = {"Ir", "Dr", "Dw"};
  given.functions = {{"instr_snippet_1", "unit.so", {132485, 40009, 25394}, 1},
                     {"mkl_blas_avx2_sgemm_kernel_nocopy_NN_b0", "mkl.so", {5568, 1128, 576}, 24},
                     {"next_block", "worker", {15, 6, 4}, 0}};
  const Counted made = counted(reply, {}, &given);
  EXPECT_EQ(made.metrics.at("instructions"), 5718);
  double sum = 0;
  for (const FunctionCost& function : made.functions) sum += function.ir;
  EXPECT_NEAR(sum, 5718, 1e-9);
  EXPECT_EQ(made.functions.back().function, "(miscounted by the simulation)");
  EXPECT_EQ(made.functions.back().ir, -759.0 / 24);
  given.functions[1].self[0] += 100;
  EXPECT_TRUE(std::holds_alternative<Failure>(parse_reply(reply, {}, &given)));
}

TEST(ParseReply, CountsArePerIterationNetOfTheEmptyLoop) {
  const Counted made = counted(measured());
  EXPECT_EQ(made.metrics,
            (std::map<std::string, double>{
                {"instructions", 6310}, {"allocs", 4}, {"alloc_bytes", 368}, {"peak_bytes", 368}}));
  EXPECT_EQ(made.iterations, 100U);
  EXPECT_EQ(made.warmup, 10U);
  EXPECT_TRUE(made.steady);
  EXPECT_TRUE(made.gated);
  EXPECT_EQ(made.first_block_instructions, 6310);
  EXPECT_EQ(made.second_block_instructions, 6310);
  EXPECT_TRUE(made.functions.empty());
}

TEST(ParseReply, TheHostSideOfCudaIsCountedWithoutItsStandIns) {
  Variant on_cuda;
  on_cuda.device = "cuda";
  auto reply = measured();
  reply.fields["device_2"] = "100 200 800 100 0 0 0 0 0";
  Profile given;
  given.events = {"Ir"};
  given.functions = {{"at::add", "/lib/libtorch_cuda.so", {600'000}, 100},
                     {"cudaLaunchKernel", "./cuda_host/libcudart.so.13", {10'000}, 100},
                     {"instr_snippet_1", "unit.so", {21'229}, 1}};
  const Counted made = counted(reply, on_cuda, &given);
  EXPECT_EQ(made.metrics.at("instructions"), 6210);
  EXPECT_EQ(made.metrics.at("launches"), 1);
  EXPECT_EQ(made.metrics.at("device_copies"), 2);
  EXPECT_EQ(made.metrics.at("device_copy_bytes"), 8);
  EXPECT_EQ(made.metrics.at("syncs"), 1);
  double sum = 0;
  for (const FunctionCost& function : made.functions) sum += function.ir;
  EXPECT_NEAR(sum, 6210, 1e-9);
  EXPECT_EQ(made.functions.front().object, "libtorch_cuda.so");
  EXPECT_EQ(made.functions.size(), 2u);
  EXPECT_FALSE(counted(reply).metrics.contains("launches"));
}

TEST(ParseReply, AStatementThatCompilesMustHaveCompiled) {
  Variant variant;
  variant.compiles = true;
  auto reply = measured();
  EXPECT_HAS(failure(parse_reply(reply, variant)).message, "compiled nothing");
  reply.fields["compile_ir"] = "5000";
  EXPECT_EQ(counted(reply, variant).metrics.at(kCompileInstructions), 5000);
}

double ir_of(const std::string& block, const std::string& doubled) {
  auto reply = measured();
  reply.fields["ir_1"] = reply.fields["ir_2"] = block;
  reply.fields["double_ir"] = doubled;
  return counted(reply).metrics.at("instructions");
}

TEST(ParseReply, TheCostOfEnteringABlockIsSubtractedExactly) {
  // 63 instructions per iteration and 2 of the loop; entering costs 31, and 29 for the empty loop.
  EXPECT_EQ(ir_of("6531", "13031"), 63);
  EXPECT_EQ(ir_of("6528", "13028"), 63);
  // Iterations that alternately cost 61 and 66.
  EXPECT_EQ(ir_of("6581", "13131"), 63.5);
  // Without a block of twice the iterations, the empty loop's entry cost is assumed.
  EXPECT_EQ(ir_of("6529", "0"), 63);
}

TEST(ParseReply, OnlyEntryCostIsSubtracted) {
  double plain = ir_of("631229", "0");
  // Further iterations that cost more, or much less, than those before.
  for (const char* doubled : {"1", "1262459", "900000", "1262364", "2000000"}) {
    EXPECT_EQ(ir_of("631229", doubled), plain) << doubled;
  }
}

// A function that Inductor compiled with LibTorch 2.13.0, whose blocks differ a little.
TEST(ParseReply, UnevenBlocksHaveTheEntryCostOfTheEmptyLoop) {
  auto reply = measured();
  reply.fields["iterations"] = "6";
  reply.fields["ir_1"] = "1592047";
  reply.fields["ir_2"] = "1592524";
  reply.fields["double_ir"] = "3184778";
  reply.fields["loop_ir"] = "96";
  reply.fields["loop_entry_ir"] = "1699";
  EXPECT_DOUBLE_EQ(counted(reply).first_block_instructions, (1592047.0 - 1699) / 6 - 96);
  EXPECT_DOUBLE_EQ(counted(reply).second_block_instructions, (1592524.0 - 1699) / 6 - 96);
}

TEST(ParseReply, SimulatedEventsAreThoseOfFurtherIterations) {
  auto reply = measured();
  reply.fields["iterations"] = "10";
  reply.fields["events"] = "Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw Bc Bcm Bi Bim";
  // 30 reads, 11 writes (one of them the loop's), 4 + 3 + 2 misses of the first level and 1 of the
  // last an iteration; the first iterations miss 50 times more.
  reply.fields["events_2"] = "950 300 110 90 80 70 5 55 6 60 12 20 8 0 0 0";
  reply.fields["double_events"] = "1850 600 220 130 110 90 5 65 6 120 22 40 18 0 0 0";
  reply.fields["loop_events"] = "2 0 1 0 0 0 0 0 0 1 0 0 0 0 0 0";
  auto metrics = counted(reply).metrics;
  EXPECT_EQ(metrics["data_reads"], 30);
  EXPECT_EQ(metrics["data_writes"], 10);
  EXPECT_EQ(metrics["i1_misses"], 4);
  EXPECT_EQ(metrics["d1_misses"], 5);
  EXPECT_EQ(metrics["ram_hits"], 1);
  EXPECT_EQ(metrics["ll_hits"], 8);
  EXPECT_EQ(metrics["l1_hits"], 88 + 30 + 10 - 9);
  EXPECT_EQ(metrics["estimated_cycles"], 119 + 5 * 8 + 35 * 1);
  EXPECT_EQ(metrics["branches"], 5 + 2);
  EXPECT_EQ(metrics["mispredictions"], 1 + 1);
}

TEST(ParseReply, TheSecondBlockIsTheCountAndTheWorkerJudgesIfItIsSteady) {
  auto reply = measured();
  reply.fields["ir_1"] = "631329";
  reply.fields["steady"] = "0";
  EXPECT_FALSE(counted(reply).steady);
  EXPECT_EQ(counted(reply).first_block_instructions, 6311);
  EXPECT_EQ(counted(reply).metrics.at("instructions"), 6310);
}

TEST(ParseReply, ACountBelowTheEmptyLoopsIsRefused) {
  auto reply = measured();
  reply.fields["ir_1"] = reply.fields["ir_2"] = "229";
  EXPECT_EQ(counted(reply).metrics.at("instructions"), 0);
  reply.fields["ir_1"] = reply.fields["ir_2"] = "129";
  const auto outcome = parse_reply(reply, {});
  EXPECT_EQ(failure(outcome).kind, FailureKind::kNoProfile);
  EXPECT_HAS(failure(outcome).message, "-1 instructions");
}

TEST(ParseReply, CountsOfSeveralThreadsAreNotGated) {
  Variant variant;
  variant.threads = 2;
  EXPECT_FALSE(counted(measured(), variant).gated);
  variant.threads = 1;
  for (const Backend backend : {Backend::kTorchScript, Backend::kInductor}) {
    variant.backend = backend;
    EXPECT_TRUE(counted(measured(), variant).gated);
  }
}

TEST(ParseReply, EachKindOfFailureIsParsed) {
  for (auto kind : {FailureKind::kCrashed, FailureKind::kAborted, FailureKind::kExited,
                    FailureKind::kException, FailureKind::kTimedOut, FailureKind::kOutOfMemory,
                    FailureKind::kNoProfile, FailureKind::kDefinitionError}) {
    wire::Message reply{"failed", {{"kind", to_string(kind)}, {"message", "words"}}};
    auto outcome = parse_reply(reply, {});
    EXPECT_EQ(failure(outcome).kind, kind);
    EXPECT_EQ(failure(outcome).message, "words");
  }
}

TEST(ParseReply, UnsupportedIsSkippedWithTheReason) {
  wire::Message reply{"failed", {{"kind", "unsupported"}, {"message", "no such device"}}};
  EXPECT_EQ(std::get<Skipped>(parse_reply(reply, {})).reason, "no such device");
}

TEST(ParseReply, AMalformedReplyIsALostWorker) {
  for (const char* field : {"iterations", "ir_1", "ir_2", "loop_ir", "loop_entry_ir"}) {
    auto reply = measured();
    for (const char* value : {"", "-1", "1.5", "99999999999999999999", "12x"}) {
      reply.fields[field] = value;
      EXPECT_EQ(failure(parse_reply(reply, {})).kind, FailureKind::kWorkerLost)
          << field << "=" << value;
    }
    reply.fields.erase(field);
    EXPECT_EQ(failure(parse_reply(reply, {})).kind, FailureKind::kWorkerLost) << field;
  }
  auto reply = measured();
  reply.fields["iterations"] = "0";
  EXPECT_EQ(failure(parse_reply(reply, {})).kind, FailureKind::kWorkerLost);
  EXPECT_EQ(failure(parse_reply({"bye", {}}, {})).kind, FailureKind::kWorkerLost);
  auto unknown = parse_reply({"failed", {{"kind", "tired"}, {"message", "m"}}}, {});
  EXPECT_EQ(failure(unknown).kind, FailureKind::kWorkerLost);
  EXPECT_HAS(failure(unknown).message, "tired");
}

TEST(FunctionCosts, AreSortedByCostAndJoinedByObjectName) {
  EXPECT_EQ(shown(function_costs(profile(), 50)),
            (std::vector<std::string>{"g [a.so] 14 in 1.5 calls", "f [a.so] 7 in 2.5 calls",
                                      "f [b.so] 2 in 0 calls"}));
}

TEST(FunctionCosts, TheCallOfTheSnippetDoesNotBelongToIterations) {
  auto reply = measured();
  auto given = profile();
  given.functions.push_back({"instr_snippet_1", "unit-1.so", {9, 630079}, 1});
  const Counted made = counted(reply, {}, &given);
  ASSERT_EQ(made.functions.size(), 4U);
  EXPECT_EQ(made.functions[0].function, "instr_snippet_1");
  EXPECT_EQ(made.functions[0].calls, 0);
  EXPECT_EQ(made.functions[1].calls, 0.75);
}

TEST(FunctionCosts, HaveTheOtherEventsNetOfTheLoop) {
  auto functions = function_costs(profile(), 50);
  EXPECT_EQ(functions[1].events, (std::map<std::string, double>{{"Dr", 9.0 * 2 / 50}}));
  auto reply = measured();
  reply.fields["events"] = "Ir Dr";
  reply.fields["events_2"] = "631229 936";
  reply.fields["loop_events"] = "2 1";
  auto given = profile();
  given.functions.push_back({"instr_snippet_1", "unit-1.so", {900, 630079}, 1});
  EXPECT_EQ(counted(reply, {}, &given).functions[0].events.at("Dr"), 9 - 1);
}

TEST(FunctionCosts, AreNoneWithoutInstructionCounts) {
  auto other = profile();
  other.events = {"Dr", "Dw"};
  EXPECT_TRUE(function_costs(other, 50).empty());
}

TEST(FailureOfStatus, DistinguishesSignalsAndExits) {
  EXPECT_EQ(failure_of_status(SIGABRT)->kind, FailureKind::kAborted);
  EXPECT_EQ(failure_of_status(SIGSEGV)->kind, FailureKind::kCrashed);
  EXPECT_EQ(failure_of_status(3 << 8)->kind, FailureKind::kExited);
  EXPECT_HAS(failure_of_status(3 << 8)->message, "3");
  EXPECT_FALSE(failure_of_status(SIGKILL));
}

}  // namespace
}  // namespace instr::parse_reply_test
