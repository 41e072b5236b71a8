// Stands in for cuDNN: its graph API, and of its older functions those that torch still calls.
#include <stdio.h>

#include "library.h"

using namespace instr::cuda_host;

namespace {

// A matrix or a bias of a recurrent network; other tensors are not read.
struct Tensor {
  int type, rows, columns;
};

// A recurrent network, whose weights torch puts where the library says. All matrices come first, by
// layer and then by gate, those for the input before those for the state; then all biases.
struct Network {
  int cell, bias, directions, type, inputs, hidden, projection, layers;

  int gates() const { return cell == 2 ? 4 : cell == 3 ? 3 : 1; }  // LSTM, GRU, others
  // The number of biases of each gate.
  int biases() const { return bias == 2 ? 2 : bias == 0 ? 0 : 1; }
  int outputs() const { return projection != 0 ? projection : hidden; }
  size_t element_bytes() const { return type == 0 ? 4 : type == 1 ? 8 : 2; }
  bool has_projection() const { return cell == 2 && projection != hidden && projection != 0; }

  // Returns the shape of a matrix: by its number, those of gates for the input, for the state, and
  // the projection.
  Tensor find_shape(int layer, int number) const {
    if (number == 2 * gates()) return {type, projection, hidden};
    const int width = layer < directions ? inputs : outputs() * directions;
    return {type, hidden, number < gates() ? width : outputs()};
  }

  // Counts the elements of all matrices before this one.
  size_t count_before(int layer, int number) const {
    size_t count = 0;
    for (int l = 0; l <= layer; ++l) {
      const int numbers = l < layer ? 2 * gates() + (has_projection() ? 1 : 0) : number;
      for (int n = 0; n < numbers; ++n)
        count += size_t(find_shape(l, n).rows) * size_t(find_shape(l, n).columns);
    }
    return count;
  }
  size_t count_biases() const {
    return size_t(layers * directions * gates() * biases()) * size_t(hidden);
  }
};

}  // namespace

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

CUDA_API int cudnnCreateTensorDescriptor(Tensor** to) { return answer(to, create<Tensor>()); }
CUDA_API int cudnnDestroyTensorDescriptor(Tensor* tensor) { return destroy(tensor); }
#define DESCRIPTOR(name) \
  CUDA_DESCRIPTOR(cudnnCreate##name##Descriptor, cudnnDestroy##name##Descriptor)
DESCRIPTOR(Activation)
DESCRIPTOR(Convolution)
DESCRIPTOR(Filter)
DESCRIPTOR(Pooling)
DESCRIPTOR(SpatialTransformer)
DESCRIPTOR(Dropout)
DESCRIPTOR(RNNData)
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

// --- Recurrent networks ---

CUDA_ZERO(cudnnDropoutGetStatesSize, size_t, 1)
CUDA_SUCCESS_ONLY(cudnnSetDropoutDescriptor)
CUDA_SUCCESS_ONLY(cudnnRestoreDropoutDescriptor)
CUDA_SUCCESS_ONLY(cudnnSetRNNDataDescriptor)
CUDA_API int cudnnCreateRNNDescriptor(Network** to) { return answer(to, create<Network>()); }
CUDA_API int cudnnDestroyRNNDescriptor(Network* network) { return destroy(network); }
CUDA_API int cudnnSetRNNDescriptor_v8(Network* network, int, int cell, int bias, int directions,
                                      int, int type, int, int, int inputs, int hidden,
                                      int projection, int layers) {
  return answer(network,
                Network{cell, bias, directions + 1, type, inputs, hidden, projection, layers});
}
CUDA_API int cudnnGetRNNWeightSpaceSize(Handle*, const Network* network, size_t* size) {
  const size_t weights = network->count_before(network->layers * network->directions, 0);
  return answer(size, (weights + network->count_biases()) * network->element_bytes());
}
CUDA_ZERO(cudnnGetRNNTempSpaceSizes, size_t, 4, 5)
CUDA_API int cudnnGetRNNWeightParams(Handle*, const Network* network, int layer, size_t,
                                     char* space, int number, Tensor* matrix, char** matrix_at,
                                     Tensor* bias, char** bias_at) {
  const Network& own = *network;
  if (matrix != nullptr) {
    *matrix = own.find_shape(layer, number);
    *matrix_at = space + own.count_before(layer, number) * own.element_bytes();
  }
  if (bias == nullptr) return 0;
  const bool has_bias = number < own.gates() * own.biases();
  *bias = {own.type, has_bias ? own.hidden : 0, 1};
  const size_t before = own.count_before(own.layers * own.directions, 0) +
                        size_t(layer * own.gates() * own.biases() + number) * size_t(own.hidden);
  return answer(bias_at, has_bias ? space + before * own.element_bytes() : nullptr);
}
CUDA_API int cudnnGetTensorNdDescriptor(const Tensor* tensor, int, int* type, int* count,
                                        int* sizes, int* strides) {
  const int shape[] = {1, tensor->rows, tensor->columns};
  for (int i = 0; i < 3; ++i) sizes[i] = shape[i];
  strides[0] = tensor->rows * tensor->columns;
  strides[1] = tensor->columns;
  strides[2] = 1;
  *type = tensor->type;
  return answer(count, 3);
}
CUDA_COMPUTES(cudnnRNNForward)
CUDA_COMPUTES(cudnnRNNBackwardData_v8)
CUDA_COMPUTES(cudnnRNNBackwardWeights_v8)
