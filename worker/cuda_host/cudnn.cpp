// Stands in for cuDNN: its graph API, and of its older functions those that torch still calls.
#include <stdio.h>

#include "library.h"

using namespace instr::cuda_host;

CUDA_HANDLE(cudnnCreate, cudnnDestroy, cudnnSetStream)
CUDA_API int cudnnGetStream(Handle* handle, Stream** stream) {
  return answer(stream, handle->stream);
}
CUDA_API int cudnnGetProperty(int property, int* value) {
  constexpr int kParts[] = {INSTR_CUDNN_VERSION / 10000, INSTR_CUDNN_VERSION / 100 % 100,
                            INSTR_CUDNN_VERSION % 100};
  return answer(value, kParts[property]);
}
CUDA_API size_t cudnnGetVersion() { return INSTR_CUDNN_VERSION; }
CUDA_API size_t cudnnGetCudartVersion() { return INSTR_CUDA_VERSION; }
CUDA_API void cudnnGetLastErrorString(char* text, size_t size) {
  snprintf(text, size, "%s", describe_last_error());
}

// --- The graph API ---

CUDA_API int cudnnBackendCreateDescriptor(int, Descriptor** to) {
  return answer(to, create<Descriptor>());
}
CUDA_API int cudnnBackendDestroyDescriptor(Descriptor* descriptor) { return destroy(descriptor); }
CUDA_SUCCESS_ONLY(cudnnBackendSetAttribute)
CUDA_SUCCESS_ONLY(cudnnBackendFinalize)
CUDA_COMPUTES(cudnnBackendExecute)

// Answers questions about plans: each graph has one engine without knobs, notes or workspace.
CUDA_API int cudnnBackendGetAttribute(const Descriptor*, int attribute, int type, int64_t asked,
                                      int64_t* count, void* values) {
  enum Type { kInt64 = 3, kNumericalNote = 11, kDescriptor = 15, kBehaviorNote = 19, kInt32 = 23 };
  enum Attribute { kKnobChoices = 302, kEngineCount = 802, kKnobInfo = 1302 };
  constexpr long kNotSupported = 3000;
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

#define DESCRIPTOR(name) \
  CUDA_DESCRIPTOR(cudnnCreate##name##Descriptor, cudnnDestroy##name##Descriptor)
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

CUDA_ZERO(cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize, size_t, 8)
CUDA_ZERO(cudnnGetBatchNormalizationBackwardExWorkspaceSize, size_t, 10)
CUDA_ZERO(cudnnGetBatchNormalizationTrainingExReserveSpaceSize, size_t, 5)
CUDA_COMPUTES(cudnnBatchNormalizationBackwardEx)
CUDA_COMPUTES(cudnnBatchNormalizationForwardInference)
CUDA_COMPUTES(cudnnBatchNormalizationForwardTrainingEx)
CUDA_COMPUTES(cudnnPoolingForward)
CUDA_COMPUTES(cudnnSpatialTfGridGeneratorBackward)
CUDA_COMPUTES(cudnnSpatialTfGridGeneratorForward)
CUDA_COMPUTES(cudnnSpatialTfSamplerBackward)
CUDA_COMPUTES(cudnnSpatialTfSamplerForward)
