// The interpreter's evaluator of frames (PEP 523), which may be replaced.
#pragma once

#include "worker/python/side.h"

namespace instr {

using Evaluator = PyObject* (*)(void* thread, void* frame, int raises);

// True if this interpreter has the necessary functions. To be called first.
bool can_evaluate_frames();

// Returns the previous evaluator.
Evaluator replace_evaluator(Evaluator evaluator);

// Returns a borrowed reference: the frame keeps the code alive.
PyObject* code_of_frame(void* frame);

}  // namespace instr
