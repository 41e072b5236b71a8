#include "core/compile/cpp/generate_cpp.h"

#include <fmt/core.h>
#include <re2/re2.h>

#include <algorithm>
#include <set>
#include <vector>

#include "core/base/content_hash.h"
#include "core/compile/cpp/build_inputs.h"
#include "core/compile/cpp/generate_body.h"
#include "core/compile/cpp/global_setup.h"
#include "core/compile/cpp/self_contained.h"
#include "core/compile/source_writer.h"
#include "core/results/verification.h"

namespace instr {

namespace {

// Part of every symbol: increment it when generated code changes.
constexpr std::string_view kGeneratorVersion = "4";

std::string generate_body(const Variant& variant, Purpose purpose) {
  Writer out("", /*with_places=*/false);
  if (purpose == Purpose::kMeasure) {
    write_body(out, variant);
  } else {
    write_verification(out, variant);
  }
  return out.take();
}

std::string namespace_of(const Variant& variant) {
  return "instr_unit_" + content_hash(global_code(variant));
}

std::string generate_function(const Variant& variant, const std::string& symbol,
                              const std::string& head) {
  Writer out(symbol, /*with_places=*/true);
  out.glue(fmt::format("namespace {} {{ {}(instr_context* instr_context_) {{",
                       namespace_of(variant), head));
  write_body(out, variant);
  out.glue("}}");
  return out.take();
}

// Generates the statement without the loop around it, where a break or continue, which would skip
// the measured code, does not compile. The compiler emits nothing for it.
std::string generate_loopless(const Variant& variant, const std::string& symbol) {
  if (!variant.stmt || is_script(variant.backend)) return "";
  Writer out(symbol, /*with_places=*/true);
  out.glue(fmt::format(
      "namespace {} {{ INSTR_NEVER_EMITTED {}_without_loop(instr_context* instr_context_) {{",
      namespace_of(variant), symbol));
  write_setups(out, variant);
  if (variant.module) write_module(out, *variant.module);
  out.glue("{");
  out.user(*variant.stmt);
  out.glue(";");
  if (jumps_out(variant.stmt->code)) {
    out.glue_at(
        variant.stmt->where,
        "static_assert(false, \"instr_bench: goto leaves the statement, and with it the loop "
        "that is measured\");");
  }
  out.glue("}}}");
  return out.take();
}

// clang inlines a static function of a header if it is called only once in the unit. So that this
// does not depend on the rest of the unit, everything is called twice.
std::string generate_snippet(const Variant& variant, const std::string& symbol) {
  return generate_function(variant, symbol, "INSTR_SNIPPET " + symbol) + "#ifdef __clang__\n" +
         generate_function(variant, symbol, "INSTR_SECOND_CALLER " + symbol + "_again") +
         "#endif\n" + generate_loopless(variant, symbol);
}

// The output's name, declared in an outer scope, is used if the statement does not declare it.
std::string generate_verification(const Variant& variant, const std::string& symbol) {
  Writer out(symbol, /*with_places=*/true);
  out.glue(
      fmt::format("namespace {} {{ namespace of_{} {{\n"
                  "[[maybe_unused]] constexpr instr_support::NoOutput {}{{}};\n"
                  "INSTR_SNIPPET {}(instr_verification* instr_verification_) {{",
                  namespace_of(variant), symbol, variant.signature->output, symbol));
  write_verification(out, variant);
  out.glue("}}}");
  return out.take();
}

// Lists the headers that the backends need besides the shared one.
std::set<std::string> list_headers(std::span<const Variant> variants) {
  std::set<std::string> headers;
  for (const Variant& variant : variants) {
    if (const char* header = facts_of(variant.backend).cuda_header) headers.insert(header);
  }
  return headers;
}

}  // namespace

std::string make_line_marker(std::string_view symbol, std::string_view file) {
  return fmt::format("@{}:{}", symbol, file);
}

std::optional<std::string> parse_line_marker(const std::string& name) {
  static const RE2 marker(R"((?:^|/)@(?:instr_[a-z]+_[0-9a-f]{32}|shared|empty):(.*))");
  std::string file;
  return RE2::PartialMatch(name, marker, &file) ? std::optional(file) : std::nullopt;
}

std::string make_snippet_symbol(const Variant& variant, Purpose purpose) {
  std::string text{kGeneratorVersion};
  const bool is_verified = purpose == Purpose::kVerify && is_candidate(variant);
  const std::string eager = is_verified ? generate_body(make_eager(variant), purpose) : "";
  for (const auto& part : {global_code(variant), generate_body(variant, purpose),
                           variant.build ? describe_build(*variant.build) : "", eager}) {
    text += fmt::format("\n{}\n{}", part.size(), part);
  }
  return (purpose == Purpose::kMeasure ? "instr_snippet_" : "instr_verify_") + content_hash(text);
}

std::vector<const Text*> list_texts(const Variant& variant) {
  std::vector<const Text*> texts;
  for (const auto& setup : variant.setups) texts.push_back(&setup);
  if (variant.stmt) texts.push_back(&*variant.stmt);
  if (variant.module) texts.push_back(&*variant.module);
  return texts;
}

std::string generate_unit(std::span<const Variant> variants, Purpose purpose) {
  std::string includes;
  std::string globals;
  std::string functions;
  std::set<std::string> seen_globals;
  std::set<std::string> seen_symbols;
  for (const auto& variant : variants) {
    std::string symbol = make_snippet_symbol(variant, purpose);
    if (!seen_symbols.insert(symbol).second) continue;
    const auto global = join_global_setups(variant);
    if (global && seen_globals.insert(global->code).second) {
      auto split = split_global(global->code);
      Writer hoisted("shared", /*with_places=*/true);
      hoisted.user({split.includes, global->where});
      includes += hoisted.take();
      Writer rest("shared", /*with_places=*/true);
      rest.glue("namespace " + namespace_of(variant) + " {");
      rest.user({split.rest, global->where});
      rest.glue("}");
      globals += rest.take();
    }
    functions += purpose == Purpose::kMeasure ? generate_snippet(variant, symbol)
                                              : generate_verification(variant, symbol);
  }
  for (const std::string& header : list_headers(variants)) {
    includes = "#include <" + header + ">\n" + includes;
  }
  if (purpose == Purpose::kVerify) return includes + globals + functions;
  return includes + globals +
         "#line 1 \"@empty:\"\n"
         "INSTR_SNIPPET instr_empty_snippet(instr_context* instr_context_) {\n"
         "INSTR_BLOCKS_BEGIN(instr_context_) INSTR_BLOCKS_END\n"
         "}\n" +
         functions;
}

}  // namespace instr
