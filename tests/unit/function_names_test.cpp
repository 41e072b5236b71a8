// Names of functions and libraries: which are equal in two builds, and how long ones are shortened.
#include "core/profile/function_names.h"

#include <set>

#include "core/base/format.h"
#include "tests/testing.h"

namespace instr::function_names_test {
namespace {

constexpr const char* kTorch = "libtorch_cpu.so";

TEST(FunctionNames, ObjectsLoseVersionsAndBuildMarks) {
  EXPECT_EQ(object_name("libtorch_cpu.so.1.13.0"), kTorch);
  EXPECT_EQ(object_name(kTorch), kTorch);
  EXPECT_EQ(object_name("libgomp-24e2ab19.so.1.0.0"), "libgomp.so");
  EXPECT_EQ(object_name("libc-2.31.so"), "libc.so");
  EXPECT_EQ(object_name("ld-linux-x86-64.so.2"), "ld-linux-x86-64.so");
  EXPECT_EQ(object_name("lib.sound.so.3"), "lib.sound.so");
  EXPECT_EQ(object_name("libso.so"), "libso.so");
  EXPECT_EQ(object_name("unit-5e48f345630481abc5cce9ee89eab4d0.so"), "unit");
  EXPECT_EQ(object_name("worker"), "worker");
  EXPECT_EQ(object_name("???"), "");
  EXPECT_EQ(object_name(".so"), ".so");
}

TEST(FunctionNames, LoseSymbolVersionsAndKeepOperators) {
  EXPECT_EQ(code_name("pthread_cond_broadcast@@GLIBC_2.3.2", "libc.so.6").function,
            "pthread_cond_broadcast");
  EXPECT_EQ(code_name("X::operator()(int) const'12", kTorch).function, "X::operator()(int) const");
  EXPECT_EQ(code_name("'2", kTorch).function, "'2");
  EXPECT_TRUE(is_recursion("fib'2"));
  EXPECT_FALSE(is_recursion("fib") || is_recursion("'2") || is_recursion("fib'2x"));
}

TEST(FunctionNames, LoseParametersReturnTypesAndQualifiers) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"memcpy", "memcpy"},
      {"at::dot(at::Tensor const&, at::Tensor const&)", "at::dot"},
      {"c10::TensorImpl::compute_contiguous() const", "c10::TensorImpl::compute_contiguous"},
      {"float* at::TensorBase::data_ptr<float>() const", "at::TensorBase::data_ptr<float>"},
      {"at::native::(anonymous namespace)::k(long, bool)", "at::native::(anonymous namespace)::k"},
      {"a::f::{lambda(int, long)#1}::_FUN(int)", "a::f::{lambda#1}::_FUN"},
      {"X::operator()() const::{lambda(float)#2}::operator()(float) const",
       "X::operator()::{lambda#2}::operator()"},
      {"bool std::operator< <int>(A<int> const&, A<int> const&)", "std::operator< <int>"},
      {"bool operator<<A>(A, A)", "operator<<A>"},
      {"X::operator->() const &", "X::operator->"},
      {"X::operator bool() const", "X::operator bool"},
      {"operator new(unsigned long)", "operator new"},
      {"operator delete[](void*)", "operator delete[]"},
      {"void f<void (char**, long), &g>(A)", "f<void, &g>"},
      {"unsigned long g<(E)1>(int)", "g<1>"},
      {"cooperator<(int)>(x)", "cooperator<>"},
      {"f(", "f"},
      {"f<", "f<>"},
      {"(", "("},
      {"", ""}};
  for (const auto& [name, plain] : cases) EXPECT_EQ(without_parameters(name), plain) << name;
}

TEST(FunctionNames, LoseDetailsFirstIfLong) {
  auto shortened = [](const std::string& name, std::size_t width) {
    return short_function_names({name}, width)[0];
  };
  const std::string name =
      "at::Tensor a::b::apply<std::vector<at::Tensor, std::allocator<at::Tensor> > >(at::Tensor&)";
  EXPECT_EQ(shortened(name, 0), name);
  EXPECT_EQ(shortened(name, 100), name);
  EXPECT_EQ(shortened(name, 70),
            "a::b::apply<std::vector<at::Tensor, std::allocator<at::Tensor>>>");
  EXPECT_EQ(shortened(name, 40), "a::b::apply<std::vector<…>>");
  EXPECT_EQ(shortened(name, 20), "a::b::apply<…>");
  EXPECT_EQ(display_width(shortened(std::string(500, 'x'), 30)), 30U);
  EXPECT_EQ(shortened("_ZN2at3addERKNS_6TensorE", 60), "at::add(at::Tensor const&)");
  EXPECT_EQ(shortened("_Znothing", 60), "_Znothing");
}

TEST(FunctionNames, KeepTheirDifferencesIfTheyBecomeEqual) {
  std::string start = "void c10::function_ref<void (char**, long)>::callback_fn<at::native::";
  auto names = short_function_names({start + "add_kernel::{lambda(float)#1}>(long, char**)",
                                     start + "mul_kernel::{lambda(float)#1}>(long, char**)", "f"},
                                    60);
  EXPECT_HAS(names[0], "add_kernel");
  EXPECT_HAS(names[1], "mul_kernel");
  EXPECT_EQ(names[2], "f");
  std::string long_part(80, 'p');
  names = short_function_names({long_part + "::f(int)", long_part + "::f(long)"}, 60);
  EXPECT_HAS(names[0], "int");
  EXPECT_HAS(names[1], "long");
}

TEST(FunctionNames, AreNumberedIfTheyLookEqual) {
  auto names = short_function_names({"f\x01", "f\x02", "f\x03"}, 40);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), 3U);
}

TEST(CodeName, HasNoHashOfAUnit) {
  const std::string unit = "instr_unit_0123456789abcdef0123456789abcdef";
  const std::string snippet = "instr_snippet_fedcba9876543210fedcba9876543210";
  const auto name = [](const std::string& function) {
    return code_name(function, "unit-1.so").function;
  };
  EXPECT_EQ(name(unit + "::twice(at::Tensor const&)"), "twice(at::Tensor const&)");
  EXPECT_EQ(name("void g<" + unit + "::A>(" + unit + "::A const&)"), "void g<A>(A const&)");
  EXPECT_EQ(name("void p<" + snippet + "(instr_context*)::{lambda()#1}>(long)"),
            "void p<instr_snippet(instr_context*)::{lambda()#1}>(long)");
  EXPECT_EQ(name(snippet), kSnippetName);
  EXPECT_EQ(name(snippet + "::{lambda()#1}::operator()() const"), kSnippetName);
  // Text that only resembles a hash stays.
  for (const char* other :
       {"instr_unit_0123::f()", "instr_support::make_script(int)", "instr_", "my_instr_unit_"}) {
    EXPECT_EQ(without_hashes(other), other);
  }
  EXPECT_EQ(without_hashes(unit), unit);
}

}  // namespace
}  // namespace instr::function_names_test
