// LibTorch's description of the processor, made without an effect on later addresses.
#pragma once

namespace instr {

// Makes cpuinfo describe the processor now. Otherwise its blocks, whose number depends on the
// number of cores, would move the addresses of later objects, which are their hashes in Python.
void describe_processor();

}  // namespace instr
