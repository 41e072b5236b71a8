#include "core/profile/call_tree.h"

#include "core/report/flame.h"
#include "tests/golden.h"
#include "tests/testing.h"

namespace instr::call_tree_test {
namespace {

using namespace testing;

// Two iterations of a statement that calls f, which calls itself and g; g also from the statement.
constexpr const char* kPaths = R"(events: Ir
ob=/lib/unit-0123.so
fn=instr_snippet_01f3e9b37bf90abd4f8bb4446da5d31a
1 30
cob=/lib/liba.so.1
cfn=f'instr_snippet_01f3e9b37bf90abd4f8bb4446da5d31a
calls=2 1
1 200
ob=/lib/liba.so.1
fn=f'instr_snippet_01f3e9b37bf90abd4f8bb4446da5d31a
1 100
cfn=f'2'f'instr_snippet_01f3e9b37bf90abd4f8bb4446da5d31a
calls=2 1
1 60
fn=f'2'f'instr_snippet_01f3e9b37bf90abd4f8bb4446da5d31a
1 20
fn=g'f'2'f'instr_snippet_01f3e9b37bf90abd4f8bb4446da5d31a
1 40
fn=g'instr_snippet_01f3e9b37bf90abd4f8bb4446da5d31a
1 8
ob=/lib/libworker.so
fn=block
1 4
totals: 202
)";

CallTree tree_of(const std::string& text, double net) {
  auto profile = value_of(parse_profile(text, "x", ProfilePaths::kSeparate));
  return call_tree(profile, 2, net);
}

TEST(ProfilePath, BeginsBehindTheLevelOfRecursion) {
  EXPECT_EQ(path_begin("f"), 1u);
  EXPECT_EQ(path_begin("f'g"), 1u);
  EXPECT_EQ(path_begin("f'2"), 3u);
  EXPECT_EQ(path_begin("f'2'g"), 3u);
  EXPECT_EQ(path_begin("f'2g"), 1u);
  EXPECT_EQ(path_begin("f'"), 1u);
  EXPECT_EQ(path_begin(""), 0u);
}

TEST(CallTree, HasTheCostOfEachPath) {
  // 202 in two iterations, of which 3 each are the empty loop's.
  const CallTree tree = tree_of(kPaths, 98);
  std::string shown;
  for (const CallNode& node : tree.nodes) {
    shown += tree.code_of(node).function + " " + std::to_string(node.parent) + " " +
             std::to_string(node.self) + " " + std::to_string(node.total) + "\n";
  }
  EXPECT_GOLDEN("call_tree/costs_by_path.txt", shown);
  EXPECT_EQ(tree.code_of(tree.nodes[1]).object, "liba.so");
  EXPECT_EQ(tree.nodes[1].calls, 2u);
  EXPECT_EQ(tree.per_iteration(tree.nodes[0].total), 98);
}

TEST(CallTree, JoinsRecursiveCodeWithoutSymbols) {
  const CallTree tree = tree_of(
      "events: Ir\nob=/lib/liba.so\nfn=instr_snippet_0\n1 2\n"
      "fn=0x0000000000001000'instr_snippet_0\n1 10\n"
      "fn=0x0000000000002000'0x0000000000001000'instr_snippet_0\n1 20\n"
      "fn=h'0x0000000000002000'0x0000000000001000'instr_snippet_0\n1 6\ntotals: 38\n",
      19);
  ASSERT_EQ(tree.nodes.size(), 3u);
  EXPECT_FALSE(tree.code_of(tree.nodes[1]).has_symbol);
  EXPECT_EQ(tree.nodes[1].self, 30);
  EXPECT_EQ(tree.nodes[2].parent, 1u);
}

// In Python the loop is the interpreter's, to which Callgrind may give the name of the function
// that first returns to it; both functions are also called.
TEST(CallTree, NamesTheLoopOfPython) {
  const std::string text =
      "events: Ir\nob=/bin/python\nfn=PyObject_Vectorcall\n1 20\n"
      "fn=PyObject_Vectorcall'2'PyObject_Vectorcall\n1 8\n"
      "fn=_PyEval_EvalFrameDefault'PyObject_Vectorcall'PyObject_Vectorcall\n1 50\n"
      "ob=/lib/libworker.so\nfn=next_block\n1 4\ntotals: 82\n";
  auto profile = value_of(parse_profile(text, "x", ProfilePaths::kSeparate));
  std::vector<std::string> names;
  for (const ProfileFunction& function : profile.functions)
    names.push_back(function.function + function.path);
  EXPECT_EQ(names, (std::vector<std::string>{
                       "_PyEval_EvalFrameDefault", "PyObject_Vectorcall'_PyEval_EvalFrameDefault",
                       "_PyEval_EvalFrameDefault'2'PyObject_Vectorcall'_PyEval_EvalFrameDefault",
                       "next_block"}));
  const CallTree tree = call_tree(profile, 2, 38);
  EXPECT_EQ(tree.nodes[0].self, 14);  // 20, of which 6 are the loop's
  EXPECT_EQ(tree.nodes[0].total, 76);

  EXPECT_EQ(value_of(parse_profile(text, "x")).functions[0].function, "PyObject_Vectorcall");
}

// An extension module has functions with such names, too.
TEST(CallTree, PutsTheLoopOfPythonInTheInterpreter) {
  std::vector<ProfileFunction> functions(4);
  const char* names[] = {"next_block", "PyCFuncPtr_call", "_PyObject_Call", "PyLong_FromLong"};
  for (std::size_t i = 0; i < functions.size(); ++i) {
    functions[i].function = names[i];
    functions[i].object = i == 0 ? "/lib/worker" : i == 1 ? "/lib/_ctypes.so" : "/bin/python";
    functions[i].path = i == 0 ? "" : "next_block";
    functions[i].self = {10};
  }
  name_loop(functions);
  EXPECT_EQ(functions[0].function, "_PyEval_EvalFrameDefault");
  EXPECT_EQ(functions[0].object, "/bin/python");
}

TEST(CallTree, HasThePlacesWhereFunctionsBegin) {
  const auto tree_with = [](const std::string& line) {
    auto profile = value_of(parse_profile(
        "events: Ir\nfl=(1) bench.toml\nfn=instr_snippet_0\n7 2\ncfl=(2) a.h\ncfn=(2) "
        "f()'instr_snippet_0\n"
        "calls=1 " +
            line +
            "\n+1 8\nfl=(2)\nfn=(2)\n3 5\nfl=(3) /usr/b.h\nfn=g()'instr_snippet_0\n9 3\n"
            "totals: 10\n",
        "x", ProfilePaths::kSeparate, ProfileLines::kRead));
    for (std::string& file : profile.files) file = file == "a.h" ? "lib/a.h" : "";
    return call_tree(profile, 1, 10);
  };
  const auto place_of = [](const CallTree& tree, const std::string& function) {
    for (std::size_t i = 0; i < tree.functions.size(); ++i) {
      if (tree.functions[i].function == function) return tree.place_of(i);
    }
    return std::string("no such function");
  };
  const CallTree before = tree_with("3");
  EXPECT_EQ(place_of(before, "f()"), "lib/a.h:3");
  EXPECT_EQ(place_of(before, "g()"), "");
  EXPECT_EQ(place_of(before, kSnippetName), "");
  // Relative to the cost before, at the present place.
  const AlignedTrees both = aligned(before, tree_with("-2"));
  EXPECT_EQ(place_of(both.after, "f()"), "lib/a.h:5");
  EXPECT_HAS(flame_page(both, "k"), R"("place":"lib/a.h:5")");
}

// As kPaths, in three iterations: f no longer calls itself, g is called by h alone.
constexpr const char* kOtherPaths = R"(events: Ir
ob=/lib/unit-0124.so
fn=instr_snippet_9
1 45
ob=/lib/liba.so.2
fn=f'instr_snippet_9
1 150
fn=h'instr_snippet_9
1 3
fn=g'h'instr_snippet_9
1 60
totals: 258
)";

TEST(CallTree, TwoTreesAreAlignedByPaths) {
  const CallTree before = tree_of(kPaths, 98);
  auto profile = value_of(parse_profile(kOtherPaths, "x", ProfilePaths::kSeparate));
  const CallTree after = call_tree(profile, 3, 85);
  const AlignedTrees both = aligned(before, after);
  ASSERT_EQ(both.before.iterations, 6U);
  ASSERT_EQ(both.after.iterations, 6U);
  ASSERT_EQ(both.before.nodes.size(), both.after.nodes.size());
  std::string shown;
  std::int64_t changes = 0;
  for (std::size_t i = 0; i < both.before.nodes.size(); ++i) {
    const CallNode& old = both.before.nodes[i];
    const CallNode& now = both.after.nodes[i];
    EXPECT_EQ(both.before.code_of(old), both.after.code_of(now));
    EXPECT_EQ(old.parent, now.parent);
    changes += now.self - old.self;
    shown += both.after.code_of(now).function + " " + std::to_string(now.parent) + " " +
             std::to_string(old.self) + "/" + std::to_string(old.total) + " -> " +
             std::to_string(now.self) + "/" + std::to_string(now.total) + "\n";
  }
  EXPECT_GOLDEN("call_tree/two_trees_aligned.txt", shown);
  EXPECT_EQ(changes, 6 * (85 - 98));
  EXPECT_EQ(both.before.nodes[1].calls, 6U);
}

TEST(Flame, FoldedStacksAddUpToTheCount) {
  EXPECT_GOLDEN("call_tree/stacks.folded", folded_stacks(tree_of(kPaths, 98)));
}

TEST(Flame, KindsOfCode) {
  const auto kind = [](const char* function) { return classify_code({function, "", true}); };
  EXPECT_EQ(kind("__memcpy_avx_unaligned_erms"), "memory");
  EXPECT_EQ(kind("posix_memalign"), "allocator");
  EXPECT_EQ(kind("at::_ops::mm::call(at::Tensor const&, at::Tensor const&)"), "dispatcher");
  EXPECT_EQ(kind("at::native::mm(at::Tensor const&)"), "kernel");
  EXPECT_EQ(kind("torch::autograd::Engine::evaluate_function()"), "autograd");
  EXPECT_EQ(kind("torch::jit::InterpreterState::run()"), "interpreter");
  EXPECT_EQ(kind("main"), "other");
}

}  // namespace
}  // namespace instr::call_tree_test
