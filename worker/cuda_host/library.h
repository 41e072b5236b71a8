// Functions of CUDA's mathematical libraries, as rows of tables: they compute nothing, so each one
// only answers. Arguments count from 0, without those of floating-point types.
#pragma once

#include <initializer_list>

#include "memory.h"
#include "record.h"

namespace instr::cuda_host {

// The handle of a library. Settings are kept for functions that ask for them.
struct Handle {
  Stream* stream;
  int settings[2];
};

// Anything else that a library creates: what is set in it is not read.
struct Descriptor {
  int unused;
};

// Reads arguments of a call by their numbers: the first six are in registers, the others follow on
// the stack. A call may have fewer than are read.
using Argument = uintptr_t;
#define CUDA_ARGUMENTS                                                                       \
  Argument a0, Argument a1, Argument a2, Argument a3, Argument a4, Argument a5, Argument a6, \
      Argument a7, Argument a8, Argument a9, Argument a10, Argument a11, Argument a12,       \
      Argument a13, Argument a14, Argument a15, Argument a16, Argument a17, Argument a18
#define CUDA_ARGUMENT_LIST \
  { a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18 }

// Sets those output arguments with these numbers that are asked for to 0.
template <class T, size_t... indices>
int answer_zero(const Argument (&arguments)[19]) {
  for (const size_t index : {indices...})
    if (arguments[index] != 0) *reinterpret_cast<T*>(arguments[index]) = 0;
  return 0;
}

}  // namespace instr::cuda_host

#define CUDA_HANDLE(create_name, destroy_name, set_stream)              \
  CUDA_API int create_name(Handle** handle) {                           \
    *handle = create<Handle>();                                         \
    return answer(&(*handle)->stream, find_stream(nullptr));            \
  }                                                                     \
  CUDA_API int destroy_name(Handle* handle) { return destroy(handle); } \
  CUDA_API int set_stream(Handle* handle, void* stream) {               \
    return answer(&handle->stream, find_stream(stream));                \
  }
#define CUDA_SETTING(set_name, get_name, index)       \
  CUDA_API int set_name(Handle* handle, int value) {  \
    return answer(&handle->settings[index], value);   \
  }                                                   \
  CUDA_API int get_name(Handle* handle, int* value) { \
    return answer(value, handle->settings[index]);    \
  }

// Functions that create or destroy their first argument.
#define CUDA_DESCRIPTOR(create_name, destroy_name)                                       \
  CUDA_API int create_name(Descriptor** to) { return answer(to, create<Descriptor>()); } \
  CUDA_API int destroy_name(Descriptor* descriptor) { return destroy(descriptor); }

// A function that sets the output arguments with these numbers, of one type, to 0.
#define CUDA_ZERO(name, type, ...) \
  CUDA_API int name(CUDA_ARGUMENTS) { return answer_zero<type, __VA_ARGS__>(CUDA_ARGUMENT_LIST); }

// A function that computes something on the device; its first argument is a handle.
#define CUDA_COMPUTES(name) \
  CUDA_API int name(Handle* handle) { return record_call(#name, handle->stream); }

// Rows for the types of a function: real and complex numbers of single and double precision.
#define CUDA_REAL(row, library, ...) row(library##S##__VA_ARGS__) row(library##D##__VA_ARGS__)
#define CUDA_COMPLEX(row, library, ...) row(library##C##__VA_ARGS__) row(library##Z##__VA_ARGS__)
#define CUDA_TYPES(row, library, ...) \
  CUDA_REAL(row, library, __VA_ARGS__) CUDA_COMPLEX(row, library, __VA_ARGS__)
