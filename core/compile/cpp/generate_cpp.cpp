#include "core/compile/cpp/generate_cpp.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <set>

#include "core/base/content_hash.h"
#include "core/compile/cpp/self_contained.h"
#include "core/compile/cpp/tracked_artefacts.h"
#include "core/compile/source_writer.h"
#include "core/definitions/axes.h"
#include "core/results/measurement.h"

namespace instr {

namespace {

// Part of every symbol: increment it when generated code changes.
constexpr std::string_view kGeneratorVersion = "4";

// The body of a variant's function in C++.

void write_arguments(Writer& out, const Signature& signature) {
  std::string uses;
  for (const auto& argument : signature.arguments) uses += "(void)" + argument + "; ";
  out.glue_at(signature.where, uses);
}

Body body_of(const Variant& variant) { return facts_of(variant.backend).body; }

// Repeats `call` for each argument, whose name replaces @.
std::string call_for_each_argument(const Signature& signature, std::string_view call) {
  std::string text;
  for (const auto& argument : signature.arguments) {
    for (char c : call) text += c == '@' ? argument : std::string(1, c);
    text += ' ';
  }
  return text;
}

// Returns copies of the arguments, for calls that must not change the original ones.
std::string copy_arguments(const Signature& signature) {
  const std::string copies = call_for_each_argument(signature, "instr_support::copy_of(@),");
  return copies.substr(0, copies.rfind(','));
}

// Returns the call of the script that write_script() and write_preparation() made. A captured graph
// ignores the arguments: it was captured with its own.
std::string format_script_call(const Variant& variant, const std::string& arguments) {
  return body_of(variant) == Body::kCapturedScript
             ? "instr_graph_.replay()"
             : fmt::format("instr_script_.forward({{{}}})", arguments);
}

void write_package(Writer& out, const Variant& variant) {
  if (!variant.package) {
    const auto& [counted, native] = variant.made_package;
    out.glue_at(variant.signature->where,
                fmt::format("instr_support::Package instr_script_({{{}, {}}});",
                            to_cpp_literal(counted), to_cpp_literal(native)));
    return;
  }
  out.glue_at(variant.package->where, "instr_support::Package instr_script_(" +
                                          to_cpp_literal(variant.package->code) + ");");
}

void write_traced_module(Writer& out, const Signature& signature) {
  std::vector<std::string> names;
  for (const auto& argument : signature.arguments) names.push_back(to_cpp_literal(argument));
  out.glue_at(
      signature.where,
      fmt::format("torch::jit::Module instr_script_ = instr_support::traced(instr_module, "
                  "{{{}}}{}{});",
                  join_names(names), names.empty() ? "" : ", ", join_names(signature.arguments)));
}

void write_script_module(Writer& out, const Variant& variant) {
  const Signature& signature = *variant.signature;
  if (variant.torchscript->empty()) return write_traced_module(out, signature);
  std::string text = "std::string instr_text_ = \"def forward(self\"";
  for (const auto& argument : signature.arguments) {
    text += fmt::format(" + instr_support::script_argument({}, {})", to_cpp_literal(argument),
                        argument);
  }
  text += " + \"):\\n\"";
  for (const auto& line : to_lines(format_script_body(variant.torchscript->code))) {
    if (!line.empty()) text += " " + to_cpp_literal(line + "\n");
  }
  text += " " + to_cpp_literal("    return " + signature.output + "\n") + ";";
  out.glue_at(signature.where, text);
  out.glue_at(variant.module ? variant.module->where : variant.torchscript->where,
              fmt::format("torch::jit::Module instr_script_ = instr_support::make_script("
                          "instr_text_, {});",
                          variant.module ? "&*instr_module" : "nullptr"));
}

void write_script(Writer& out, const Variant& variant) {
  switch (body_of(variant)) {
    case Body::kStatement:
    case Body::kTraced:  // Python only
    case Body::kCompiled:
    case Body::kLazy: return;
    case Body::kScript:
    case Body::kCapturedScript: return write_script_module(out, variant);
    case Body::kPackage: return write_package(out, variant);
  }
}

void write_capture(Writer& out, const Variant& variant) {
  const Signature& signature = *variant.signature;
  out.glue_at(
      signature.where,
      fmt::format(
          "instr_support::Captured<at::cuda::CUDAGraph> instr_graph_(instr_script_, {{{}}}, "
          "{{{}}});",
          join_names(signature.arguments), copy_arguments(signature)));
}

// Returns the code that prepares the module; null if it runs unchanged.
const char* preparation_code(Preparation preparation) {
  switch (preparation) {
    case Preparation::kNone: break;
    case Preparation::kFreeze: return "instr_script_ = instr_support::frozen(instr_script_);";
    case Preparation::kOptimize: return "instr_script_ = instr_support::optimized(instr_script_);";
    case Preparation::kFuse: return "instr_support::set_fuser(true);";
    case Preparation::kDoNotFuse: return "instr_support::set_fuser(false);";
  }
  return nullptr;
}

// Prepares the module that write_script() loaded.
void write_preparation(Writer& out, const Variant& variant) {
  if (const char* code = preparation_code(facts_of(variant.backend).preparation)) out.glue(code);
  if (body_of(variant) == Body::kCapturedScript) write_capture(out, variant);
}

// Autocast lasts until the end of the scope, or of the forward pass.
void write_autocast(Writer& out, const Variant& variant) {
  if (!is_autocast(variant)) return;
  out.glue(fmt::format("instr_support::Autocast instr_autocast_({});",
                       is_on_cuda(variant) ? "c10::kCUDA" : "c10::kCPU"));
}

// Writes the measured code without backward: the user's statement, or a generated call.
void write_statement(Writer& out, const Variant& variant) {
  write_autocast(out, variant);
  if (is_script(variant.backend)) {
    out.glue_at(variant.signature->where,
                fmt::format("auto instr_output_ = {}.toTensor();",
                            format_script_call(variant, join_names(variant.signature->arguments))));
  } else if (variant.stmt) {
    out.user(*variant.stmt);
    out.glue(";");
  } else if (variant.module && variant.signature) {
    out.glue_at(variant.signature->where, fmt::format("auto instr_output_ = instr_module({});",
                                                      join_names(variant.signature->arguments)));
  }
}

std::string output_name(const Variant& variant) {
  bool is_generated = is_script(variant.backend) || !variant.stmt;
  return is_generated ? "instr_output_" : variant.signature->output;
}

std::string format_scalar(const Variant& variant) {
  return output_name(variant) + (variant.reduce ? "." + *variant.reduce + "()" : "");
}

void write_backward(Writer& out, const Variant& variant) {
  if (!is_differentiated(variant)) return;
  const std::string scalar = format_scalar(variant);
  if (!is_autocast(variant)) {
    return out.glue_at(variant.signature->where, scalar + ".backward();");
  }
  out.glue_at(variant.signature->where, fmt::format("auto instr_loss_ = {};", scalar));
  out.glue("instr_autocast_.end(); instr_loss_.backward();");
}

// Writes runs before the measurement, which fail with a clear message if it is impossible.
void write_trial(Writer& out, const Variant& variant) {
  bool runs_script = is_script(variant.backend);
  if (is_first_call(variant) || (!runs_script && !is_differentiated(variant))) return;
  const Signature& signature = *variant.signature;
  std::string name = to_cpp_literal(signature.output);
  if (runs_script) {
    if (is_autocast(variant)) out.glue("{");
    write_autocast(out, variant);
    out.glue_at(signature.where,
                fmt::format("instr_support::check_script_output({}, {});",
                            format_script_call(variant, join_names(signature.arguments)), name));
    if (is_autocast(variant)) out.glue("}");
    out.glue("instr_context_->mark(instr_context_, INSTR_FIRST_RESULT);");
  }
  // TorchScript profiles its first runs and optimises after them.
  out.glue(fmt::format("for (int instr_trial_ = 0; instr_trial_ != {}; ++instr_trial_) {{",
                       runs_script ? 3 : 1));
  write_statement(out, variant);
  if (is_differentiated(variant)) {
    out.glue_at(
        signature.where,
        fmt::format("instr_support::check_differentiable(instr_support::as_output({}), {});",
                    output_name(variant), name));
    out.glue_at(signature.where,
                fmt::format("instr_support::check_scalar(instr_support::as_output({}), {});",
                            format_scalar(variant), name));
  }
  write_backward(out, variant);
  out.glue("}");
  if (runs_script) out.glue("instr_context_->mark(instr_context_, INSTR_READY);");
}

// Writes the first runs of a script, which profile and optimise it. They get copies of the
// arguments, so that the optimised code is verified on unchanged ones.
void write_trials(Writer& out, const Variant& variant) {
  if (body_of(variant) == Body::kCapturedScript) return;  // they were before the capture
  const Signature& signature = *variant.signature;
  out.glue(
      "for (int instr_trial_ = 0; instr_trial_ != 2; ++instr_trial_) {\n"
      "instr_verification_->begin(instr_verification_);");
  write_autocast(out, variant);
  out.glue_at(signature.where, fmt::format("auto instr_value_ = {};",
                                           format_script_call(variant, copy_arguments(signature))));
  if (is_differentiated(variant)) {
    out.glue("if (!instr_value_.isTensor()) break; auto instr_output_ = instr_value_.toTensor();");
    write_backward(out, variant);
  }
  out.glue("}");
}

void write_verified_statement(Writer& out, const Variant& variant) {
  if (is_script(variant.backend)) {
    write_autocast(out, variant);
    out.glue_at(variant.signature->where,
                fmt::format("auto instr_value_ = {};",
                            format_script_call(variant, join_names(variant.signature->arguments))));
    out.glue(
        "instr_support::hand_over(instr_verification_, \"\", instr_value_);\n"
        "if (!instr_value_.isTensor()) break;\n"
        "auto instr_output_ = instr_value_.toTensor();");
  } else {
    write_statement(out, variant);
    out.glue_at(variant.signature->where,
                fmt::format("instr_support::hand_over(instr_verification_, \"\", {});",
                            output_name(variant)));
  }
  write_backward(out, variant);
}

// Writes the setups, each ended by a semicolon.
void write_setups(Writer& out, const Variant& variant) {
  for (const auto& setup : variant.setups) {
    out.user(setup);
    out.glue(";");
  }
}

void write_module(Writer& out, const Variant& variant) {
  if (!variant.module) return;
  out.glue("auto instr_module =");
  out.user(*variant.module);
  out.glue(variant.autograd == Autograd::kForwardBackwardEval ? "; instr_module->eval();" : ";");
  if (is_on_cuda(variant)) out.glue("instr_module->to(torch::Device(torch::kCUDA));");
}

// Writes the setup and the loop around the statement.
void write_body(Writer& out, const Variant& variant) {
  bool needs_signature = is_script(variant.backend) || is_differentiated(variant) || !variant.stmt;
  write_setups(out, variant);
  if (needs_signature && !variant.signature) {
    out.glue_at(
        variant.where,
        "static_assert(sizeof(torch::Tensor) == 0, \"instr_bench: a signature is needed\");");
    return;
  }
  if (variant.signature) write_arguments(out, *variant.signature);
  write_module(out, variant);
  if (is_script(variant.backend)) {
    out.glue("instr_context_->mark(instr_context_, INSTR_PREPARING);");
    write_script(out, variant);
    if (body_of(variant) != Body::kPackage) {
      out.glue("instr_context_->take_module(instr_context_, &instr_script_);");
    }
    write_preparation(out, variant);
  }
  write_trial(out, variant);
  out.glue("instr_context_->mark(instr_context_, INSTR_AT_LOOP);");
  out.glue("INSTR_BLOCKS_BEGIN(instr_context_) {");
  write_statement(out, variant);
  write_backward(out, variant);
  out.glue("} INSTR_BLOCKS_END");
}

// Writes one run of the statement after its setup, and hands over the values to compare.
void write_verification(Writer& out, const Variant& variant) {
  write_setups(out, variant);
  const Signature& signature = *variant.signature;
  write_arguments(out, signature);
  write_module(out, variant);
  const char* module = is_script(variant.backend) ? "instr_script_"
                       : variant.module           ? "*instr_module"
                                                  : nullptr;
  if (is_script(variant.backend)) {
    write_script(out, variant);
    write_preparation(out, variant);
    write_trials(out, variant);
  } else {
    out.glue("if (instr_verification_->is_reference) {");
    out.glue_at(signature.where,
                call_for_each_argument(signature, "instr_support::to_reference(@);"));
    if (module != nullptr) out.glue("(*instr_module).to(torch::kDouble);");
    out.glue("}");
  }
  if (is_differentiated(variant)) {
    out.glue_at(signature.where,
                call_for_each_argument(signature, "instr_support::watch_gradient(@);"));
    if (module != nullptr) out.glue(fmt::format("instr_support::watch_gradients({});", module));
  }
  // A loop, as the statement may expect one.
  out.glue(
      "instr_verification_->begin(instr_verification_);\n"
      "for (int instr_run_ = 0; instr_run_ != 1; ++instr_run_) {");
  write_verified_statement(out, variant);
  if (is_differentiated(variant)) {
    out.glue_at(signature.where, call_for_each_argument(signature,
                                                        "instr_support::hand_over_gradients("
                                                        "instr_verification_, \"@\", @);"));
    if (module != nullptr) {
      out.glue(fmt::format("instr_support::hand_over_gradients(instr_verification_, {});", module));
    }
  }
  out.glue("}");
}

// The function, and the unit.

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
  write_module(out, variant);
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
