// Runs Python code natively: a snippet is a generator, which can be suspended.
#include <ATen/DLConvertor.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "worker/children.h"
#include "worker/native/native_code.h"
#include "worker/python/side.h"

namespace instr {
namespace {

using Clock = std::chrono::steady_clock;

template <class T>
T& target_of(PyObject* pointer) {
  return *static_cast<T*>(PyLong_AsVoidPtr(pointer));
}

// Makes a Python function that calls `method` with the target.
PyObject* bind(PyMethodDef& method, void* target) {
  PyObject* pointer = checked(PyLong_FromVoidPtr(target));
  PyObject* function = checked(PyCFunction_NewEx(&method, pointer, nullptr));
  Py_DecRef(pointer);
  return function;
}

PyObject* none() { return PyLong_FromLong(0); }

// Returns an attribute of a module that is beside serve.py.
PyObject* module_attribute(const char* module, const char* name) {
  PyObject* imported = checked(PyImport_ImportModule(module));
  PyObject* found = attribute(imported, name);
  Py_DecRef(imported);
  return found;
}

class SuspendedGenerator : public SuspendedCode {
 public:
  SuspendedGenerator(const PythonCode& code, Listener listener)
      : listener_(std::move(listener)), pid_(getpid()) {
    static PyMethodDef mark_method{"mark", mark, METH_O, nullptr};
    snippet_ = call(module_attribute("instr_native_code", "Suspended"), bytes_of(code),
                    bind(mark_method, &listener_));
  }

  ~SuspendedGenerator() override { Py_DecRef(snippet_); }

  bool resume(std::uint64_t iterations) override {
    PyObject* function = attribute(snippet_, "resume");
    PyObject* number = checked(PyLong_FromUnsignedLongLong(iterations));
    const auto begin = Clock::now();
    PyObject* result = call(function, number);
    if (getpid() != pid_) end_process();  // a process that the snippet forked came here
    listener_.on_block_end();
    seconds_ = std::chrono::duration<double>(Clock::now() - begin).count();
    const Outcome outcome = read_outcome(result);
    if (outcome == Outcome::kRaised) caught_ = last_caught();
    return outcome == Outcome::kSuspended;
  }

  double seconds() const override { return seconds_; }

 private:
  static PyObject* mark(PyObject* self, PyObject* reached) {
    target_of<Listener>(self).on_mark(static_cast<instr_mark>(PyLong_AsLong(reached)));
    return none();
  }

  Listener listener_;
  pid_t pid_;
  PyObject* snippet_ = nullptr;
  double seconds_ = 0;
};

PyObject* text(const std::string& value) { return checked(PyUnicode_FromString(value.c_str())); }

bool is_watching = false;

// Calls a function of the compiler's watch that returns names and values alternately.
std::map<std::string, std::string> ask_watch(const char* function) {
  std::map<std::string, std::string> fields;
  if (!is_watching) return fields;
  PyObject* list = call(module_attribute("instr_compiler", function));
  for (ssize_t i = 0; i + 1 < PySequence_Size(list); i += 2) {
    std::string name = text_of(PySequence_GetItem(list, i));
    fields[std::move(name)] = text_of(PySequence_GetItem(list, i + 1));
  }
  Py_DecRef(list);
  return fields;
}

PyObject* begin(PyObject* self, PyObject*) {
  auto& verification = target_of<instr_verification>(self);
  verification.begin(&verification);
  return none();
}

// `given`: name, a DLPack capsule or an empty text, and a description of a value that is no tensor.
PyObject* take(PyObject* self, PyObject* given) {
  auto& verification = target_of<instr_verification>(self);
  const std::string name = text_of(PySequence_GetItem(given, 0));
  const std::string otherwise = text_of(PySequence_GetItem(given, 2));
  if (!otherwise.empty()) {
    verification.take(&verification, name.c_str(), nullptr, otherwise.c_str());
    return none();
  }
  PyObject* capsule = PySequence_GetItem(given, 1);
  void* exported = PyCapsule_GetPointer(capsule, "dltensor");
  PyCapsule_SetName(capsule, "used_dltensor");
  const at::Tensor tensor = at::fromDLPack(static_cast<DLManagedTensor*>(exported));
  verification.take(&verification, name.c_str(), &tensor, "");
  Py_DecRef(capsule);
  return none();
}

}  // namespace

std::unique_ptr<SuspendedCode> SuspendedCode::make(const void* code, int, Listener listener) {
  return std::make_unique<SuspendedGenerator>(*static_cast<const PythonCode*>(code),
                                              std::move(listener));
}

void watch_compiler(const CompilerWatch& watch) {
  Py_DecRef(call(module_attribute("instr_compiler", "watch"), text(watch.cache), text(watch.logs)));
  is_watching = true;
}

std::map<std::string, std::string> compiler_report() { return ask_watch("report"); }

std::map<std::string, double> device_totals() {
  std::map<std::string, double> totals;
  for (const auto& [name, total] : ask_watch("device_totals")) totals[name] = std::stod(total);
  return totals;
}

std::string compiler_log(const std::string& log) {
  return is_watching ? text_of(call(module_attribute("instr_compiler", "log_text"), text(log)))
                     : "";
}

std::string loaded_files() {
  return text_of(call(module_attribute("instr_native_code", "loaded_files")));
}

void call_verifier(const void* code, instr_verification* verification) {
  static PyMethodDef begin_method{"begin", begin, METH_O, nullptr};
  static PyMethodDef take_method{"take", take, METH_O, nullptr};
  read_outcome(call(module_attribute("instr_native_code", "verify"),
                    bytes_of(*static_cast<const PythonCode*>(code)),
                    checked(PyLong_FromLong(verification->is_reference)),
                    bind(begin_method, verification), bind(take_method, verification)));
}

}  // namespace instr
