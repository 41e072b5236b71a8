// Gives each context variable a hash that follows from its name. The hash is the variable's place
// in the tree of a context. The interpreter's own follows from the variable's address, and so from
// all that was imported and allocated before.
#pragma once

namespace instr {

// Lets the hash of each later variable also follow from a number, counted from 1. To be called when
// a snippet starts: it may make many variables of one name, as patching torch's settings does.
void number_context_variables();

}  // namespace instr
