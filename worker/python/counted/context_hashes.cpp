#include <stdint.h>
#include <string.h>

#include <algorithm>
#include <bit>

#include "worker/python/counted/pins.h"
#include "worker/python/side.h"

// Weak, since other programs that a snippet starts load this library, too.
extern "C" [[gnu::weak]] PyObject PyContextVar_Type;

namespace instr {
namespace {

using New = PyObject* (*)(PyObject* type, PyObject* arguments, PyObject* options);

// Offsets in a type and in a context variable of CPython 3.9 to 3.14, on a machine of 64 bits.
constexpr std::size_t kNewAt = 312, kNameAt = 16, kHashAt = 56;

New usual_new = nullptr;
bool is_snippet = false;
// The variables that the snippet has made, by their names' hashes, of which some may be the same.
uint16_t made_by_snippet[1024];

template <class Value>
Value& value_at(PyObject* object, std::size_t offset) {
  return *reinterpret_cast<Value*>(reinterpret_cast<char*>(object) + offset);
}

bool has_digit(uint64_t eight_characters) {
  constexpr uint64_t kHighBits = 0x8080'8080'8080'8080;
  const uint64_t from_zero = eight_characters ^ 0x3030'3030'3030'3030;
  const uint64_t above_nine = (from_zero + 0x7676'7676'7676'7676) | from_zero;
  return (above_nine & kHighBits) != kHighBits;
}

// Skips words with digits, since some names of torch's contain addresses. Costs few instructions,
// since a statement that makes variables pays for them.
uint64_t hash_of(const char* name, std::size_t size) {
  uint64_t hash = size;
  for (std::size_t i = 0; i < size; i += sizeof(uint64_t)) {
    uint64_t word = 0;
    memcpy(&word, name + i, std::min(sizeof word, size - i));
    if (!has_digit(word)) hash = std::rotl((hash ^ word) * 0x9E37'79B9'7F4A'7C15, 32);
  }
  return hash;
}

PyObject* new_variable(PyObject* type, PyObject* arguments, PyObject* options) {
  PyObject* const variable = usual_new(type, arguments, options);
  if (variable == nullptr) return nullptr;
  ssize_t size = 0;
  const char* const name = PyUnicode_AsUTF8AndSize(value_at<PyObject*>(variable, kNameAt), &size);
  if (name == nullptr) {
    PyErr_Clear();  // the variable keeps its usual hash
  } else {
    uint64_t hash = hash_of(name, static_cast<std::size_t>(size));
    if (is_snippet) {
      const uint64_t number = ++made_by_snippet[hash % std::size(made_by_snippet)];
      hash = (hash ^ number) * 0x9E37'79B9'7F4A'7C15;
    }
    // The shift avoids -1, which would be an error.
    value_at<int64_t>(variable, kHashAt) = static_cast<int64_t>(hash >> 1);
  }
  return variable;
}

bool is_layout_known() {
  PyObject* const name = checked(PyUnicode_FromString("instr"));
  PyObject* const variable =
      checked(PyObject_CallFunctionObjArgs(&PyContextVar_Type, name, nullptr));
  const bool is_known = value_at<PyObject*>(variable, kNameAt) == name &&
                        value_at<int64_t>(variable, kHashAt) == PyObject_Hash(variable);
  Py_DecRef(variable);
  Py_DecRef(name);
  return is_known;
}

}  // namespace

void number_context_variables() { is_snippet = true; }

}  // namespace instr

// Called before anything is imported that makes such variables.
extern "C" void instr_pin_context_hashes() {
  using namespace instr;
  if (!is_layout_known()) return;
  usual_new = value_at<New>(&PyContextVar_Type, kNewAt);
  value_at<New>(&PyContextVar_Type, kNewAt) = new_variable;
}
