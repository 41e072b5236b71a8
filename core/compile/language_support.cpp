#include "core/compile/language_support.h"

namespace instr {

Expected<CompiledVariants> LanguageSupport::compile_all(const std::vector<Variant>& variants,
                                                        Purpose purpose, std::stop_token stop) {
  CompiledVariants compiled;
  TRY(compile(
      variants, purpose, [&compiled](const UnitResult& unit) { compiled.add(unit); }, stop));
  return compiled;
}

std::string list_symbols(
    const Variant& variant,
    const std::function<std::string(const Variant& variant, Purpose purpose)>& symbol_of) {
  std::string symbols = symbol_of(variant, Purpose::kMeasure);
  if (!is_candidate(variant)) return symbols;
  const Variant eager = make_eager(variant);
  for (const auto& symbol :
       {symbol_of(eager, Purpose::kMeasure), symbol_of(eager, Purpose::kVerify),
        symbol_of(variant, Purpose::kVerify)}) {
    symbols += "\n" + symbol;
  }
  return symbols;
}

Languages make_languages(const std::optional<std::string>& python, const CompileOptions& options,
                         Cache& cache) {
  Languages languages;
  for (const LanguageFacts& known : kLanguages) {
    auto& language = languages[static_cast<std::size_t>(known.language)];
    switch (known.language) {
      case Language::kCpp: language = make_cpp_language(options, cache); break;
      case Language::kPython: language = make_python_language(python, options, cache); break;
    }
  }
  return languages;
}

}  // namespace instr
