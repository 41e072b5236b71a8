// What evaluates the interpreter's frames (PEP 523), and may be replaced.
#pragma once

#include "worker/python/api.h"

namespace instr {

using Evaluator = PyObject* (*)(void* thread, void* frame, int raises);

// Whether this interpreter has all that it takes. To be called first.
bool can_evaluate_frames();

// Returns the one before.
Evaluator replace_evaluator(Evaluator evaluator);

// Borrowed: the frame keeps it alive.
PyObject* code_of_frame(void* frame);

}  // namespace instr
