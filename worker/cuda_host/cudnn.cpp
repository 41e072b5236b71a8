// Stands in for cuDNN: its graph API, and of its older functions those that torch still calls.
#include <stdio.h>

#include "memory.h"
#include "record.h"

using namespace instr::cuda_host;

namespace {

constexpr int kNotSupported = 3000;

struct Handle {
  Stream* stream;
};

// Any descriptor: nothing reads what is set.
struct Descriptor {
  int type;
};

int create_descriptor(Descriptor** to, int type = 0) {
  *to = create<Descriptor>();
  (*to)->type = type;
  return 0;
}

int destroy_descriptor(Descriptor* descriptor) { return destroy(descriptor); }

}  // namespace

CUDA_API int cudnnCreate(Handle** handle) {
  *handle = create<Handle>();
  (*handle)->stream = find_stream(nullptr);
  return 0;
}
CUDA_API int cudnnDestroy(Handle* handle) { return destroy(handle); }
CUDA_API int cudnnSetStream(Handle* handle, void* stream) {
  handle->stream = find_stream(stream);
  return 0;
}
CUDA_API int cudnnGetStream(Handle* handle, Stream** stream) {
  return answer(stream, handle->stream);
}
CUDA_API int cudnnGetProperty(int property, int* value) {
  constexpr int kParts[] = {INSTR_CUDNN_VERSION / 10000, INSTR_CUDNN_VERSION / 100 % 100,
                            INSTR_CUDNN_VERSION % 100};
  *value = kParts[property];
  return 0;
}
CUDA_API size_t cudnnGetVersion() { return INSTR_CUDNN_VERSION; }
CUDA_API size_t cudnnGetCudartVersion() { return INSTR_CUDA_VERSION; }
CUDA_API const char* cudnnGetErrorString(int) { return describe_last_error(); }
CUDA_API void cudnnGetLastErrorString(char* text, size_t size) {
  snprintf(text, size, "%s", describe_last_error());
}

// --- The graph API ---

CUDA_API int cudnnBackendCreateDescriptor(int type, Descriptor** to) {
  return create_descriptor(to, type);
}
CUDA_API int cudnnBackendDestroyDescriptor(Descriptor* descriptor) {
  return destroy_descriptor(descriptor);
}
CUDA_SUCCESS_ONLY(cudnnBackendSetAttribute)
CUDA_SUCCESS_ONLY(cudnnBackendFinalize)

// Answers questions about plans: each graph has one engine without knobs, notes or workspace.
CUDA_API int cudnnBackendGetAttribute(const Descriptor*, int attribute, int type, int64_t asked,
                                      int64_t* count, void* values) {
  enum Type { kInt64 = 3, kNumericalNote = 11, kDescriptor = 15, kBehaviorNote = 19, kInt32 = 23 };
  enum Attribute { kKnobChoices = 302, kEngineCount = 802, kKnobInfo = 1302 };
  int64_t answers = 1;
  if (type == kInt64 && asked > 0) {
    *static_cast<int64_t*>(values) = attribute == kEngineCount ? 1 : 0;
  } else if (type == kInt32 && asked > 0) {
    *static_cast<int32_t*>(values) = 0;
  } else if (type == kNumericalNote || type == kBehaviorNote || attribute == kKnobChoices ||
             attribute == kKnobInfo) {
    answers = 0;
  } else if (type != kDescriptor) {
    return static_cast<int>(record_unsupported(__func__, kNotSupported));
  }
  if (count != nullptr) *count = answers;
  return 0;
}

// --- Older functions ---

#define DESCRIPTOR(name)                                                                        \
  CUDA_API int cudnnCreate##name##Descriptor(Descriptor** to) { return create_descriptor(to); } \
  CUDA_API int cudnnDestroy##name##Descriptor(Descriptor* from) { return destroy_descriptor(from); }
DESCRIPTOR(Activation)
DESCRIPTOR(Convolution)
DESCRIPTOR(Filter)
DESCRIPTOR(Pooling)
DESCRIPTOR(SpatialTransformer)
DESCRIPTOR(Tensor)
CUDA_SUCCESS_ONLY(cudnnSetActivationDescriptor)
CUDA_SUCCESS_ONLY(cudnnSetConvolutionGroupCount)
CUDA_SUCCESS_ONLY(cudnnSetConvolutionMathType)
CUDA_SUCCESS_ONLY(cudnnSetConvolutionNdDescriptor)
CUDA_SUCCESS_ONLY(cudnnSetFilterNdDescriptor)
CUDA_SUCCESS_ONLY(cudnnSetPooling2dDescriptor)
CUDA_SUCCESS_ONLY(cudnnSetSpatialTransformerNdDescriptor)
CUDA_SUCCESS_ONLY(cudnnSetTensorNdDescriptor)

CUDA_API int cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(Handle*, int, int, void*,
                                                                      void*, void*, void*, void*,
                                                                      size_t* size) {
  return answer(size, 0);
}
CUDA_API int cudnnGetBatchNormalizationBackwardExWorkspaceSize(Handle*, int, int, void*, void*,
                                                               void*, void*, void*, void*, void*,
                                                               size_t* size) {
  return answer(size, 0);
}
CUDA_API int cudnnGetBatchNormalizationTrainingExReserveSpaceSize(Handle*, int, int, void*, void*,
                                                                  size_t* size) {
  return answer(size, 0);
}

// A function that computes tensors on the device.
#define COMPUTES(name) \
  CUDA_API int name(Handle* handle) { return record_call(#name, handle->stream); }
COMPUTES(cudnnBackendExecute)
COMPUTES(cudnnBatchNormalizationBackwardEx)
COMPUTES(cudnnBatchNormalizationForwardInference)
COMPUTES(cudnnBatchNormalizationForwardTrainingEx)
COMPUTES(cudnnPoolingForward)
COMPUTES(cudnnSpatialTfGridGeneratorBackward)
COMPUTES(cudnnSpatialTfGridGeneratorForward)
COMPUTES(cudnnSpatialTfSamplerBackward)
COMPUTES(cudnnSpatialTfSamplerForward)
