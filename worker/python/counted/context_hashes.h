// Gives each context variable a hash that follows from its name. The hash is the variable's place
// in the tree of a context. The interpreter's own follows from the variable's address, and so from
// all that was imported and allocated before.
#pragma once

namespace instr {

// To be called when a snippet starts. Its variables also have numbers, since it may make many of
// one name: torch's settings keep one for each time that they are patched.
void number_context_variables();

}  // namespace instr
