// Stands in for CUDA's driver, as far as torch calls it directly and Triton's launcher does.
#include "device.h"
#include "memory.h"
#include "record.h"

using namespace instr::cuda_host;
