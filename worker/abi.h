/* The snippet ABI: plain C between the worker and a unit, which includes this and LibTorch. */
#ifndef INSTR_WORKER_ABI_H
#define INSTR_WORKER_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define INSTR_ABI_VERSION 2

/* Reached before the code is prepared from its text, after its first result, once it no longer gets
 * faster, and just before the loop: a second time if the statement has jumped into the setup. */
enum instr_mark { INSTR_PREPARING, INSTR_FIRST_RESULT, INSTR_READY, INSTR_AT_LOOP };

/* Passed to a snippet by the worker. A snippet runs its setup, then
 *
 *   while (uint64_t n = context->next_block(context))
 *     for (; n != 0; --n) { statement }
 *
 * The worker decides the number and lengths of blocks. next_block stops collection first and starts
 * it last, so that only the loop is collected. */
struct instr_context {
  uint32_t abi_version;
  int32_t threads;
  uint64_t (*next_block)(struct instr_context* context);
  /* Reports the progress of a snippet that has something to prepare. */
  void (*mark)(struct instr_context* context, enum instr_mark reached);
  /* Passes the torch::jit::Module that the snippet runs, as loaded. The snippet may prepare it
   * after this, but does not move it. */
  void (*take_module)(struct instr_context* context, const void* module);
};

/* A variant of a unit: extern "C", named by the generator. */
typedef void (*instr_snippet)(struct instr_context* context);

/* Passed to the verifier that a unit for verification has instead of a snippet. It runs the setup
 * and the statement once, and passes the output and the gradients. Tensors are pointers to
 * at::Tensor. */
struct instr_verification {
  uint32_t abi_version;
  /* 1: arguments and module are to be made double precision before the statement; an exception if
   * that is impossible. */
  int32_t is_reference;
  /* To be called before each run of the statement, so that all draw the same random numbers. */
  void (*begin)(struct instr_verification* verification);
  /* If the value is not a tensor, `tensor` is null and `otherwise` describes the value. */
  void (*take)(struct instr_verification* verification, const char* name, const void* tensor,
               const char* otherwise);
};

typedef void (*instr_verifier)(struct instr_verification* verification);

/* Exported by each unit of snippets: the same loop around nothing. */
#define INSTR_EMPTY_SNIPPET "instr_empty_snippet"

#ifdef __cplusplus
}
#endif
#endif
