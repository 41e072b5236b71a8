#include "worker/native/data_type.h"

#include <c10/core/DefaultDtype.h>
#include <c10/core/ScalarTypeToTypeMeta.h>

#include <map>

namespace instr {

bool set_default_type(const std::string& name) {
  static const std::map<std::string, c10::ScalarType> kTypes{{"float32", c10::kFloat},
                                                             {"float64", c10::kDouble},
                                                             {"float16", c10::kHalf},
                                                             {"bfloat16", c10::kBFloat16}};
  const auto type = kTypes.find(name);
  if (type == kTypes.end()) return false;
  c10::set_default_dtype(c10::scalarTypeToTypeMeta(type->second));
  return true;
}

}  // namespace instr
