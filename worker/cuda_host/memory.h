// Memory of the stand-ins: small objects from a static arena, the made-up device's memory and
// pinned host memory at fixed addresses, so that addresses are the same in each run.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "record.h"

namespace instr::cuda_host {

// Allocates zero-filled memory for an object of the stand-ins, without the caller's heap.
INSTR_EXPORT void* allocate_object(size_t size);
INSTR_EXPORT void free_object(void* object, size_t size);

template <class T>
T* create() {
  return static_cast<T*>(allocate_object(sizeof(T)));
}

// Returns 0, CUDA's success.
template <class T>
int destroy(T* object) {
  free_object(object, sizeof(T));
  return 0;
}

// Returns a copy of a text that lives as long as the process.
INSTR_EXPORT const char* keep_text(const char* text);

class SpinLock {
 public:
  explicit SpinLock(bool& locked) : locked_(locked) {
    while (__atomic_test_and_set(&locked_, __ATOMIC_ACQUIRE)) {
    }
  }
  ~SpinLock() { __atomic_clear(&locked_, __ATOMIC_RELEASE); }
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;

 private:
  bool& locked_;
};

enum class MemoryKind { kDevice, kPinned };

// Allocates from the first gap that is large enough; null if the memory is full.
INSTR_EXPORT void* allocate_memory(MemoryKind kind, size_t size);
// Returns false if `address` is not the start of an allocation.
INSTR_EXPORT bool free_memory(MemoryKind kind, void* address);
// Makes host memory count as pinned until it is unregistered.
INSTR_EXPORT void register_pinned(void* begin, size_t size);
INSTR_EXPORT bool unregister_pinned(void* begin);

INSTR_EXPORT bool is_device_address(const void* address);
INSTR_EXPORT bool is_pinned_address(const void* address);
INSTR_EXPORT size_t count_free_device_bytes();
// Copies between any two of host and device memory. What no copy has put on the device reads as 0.
INSTR_EXPORT void copy_memory(void* to, const void* from, size_t size);
INSTR_EXPORT void fill_memory(void* to, int value, size_t size);

}  // namespace instr::cuda_host
