// Snippets whose cost is known by construction, to check Callgrind's counts to the instruction. The loop
// is as the compiler generates it for a snippet, with and without a call of instr_canary: the call and
// the function are exactly 1000 instructions.
        .text

        .globl  instr_canary
        .type   instr_canary, @function
instr_canary:                           // 999 instructions: 1 + 2 x 498 + 1 + 1
        movl    $498, %ecx
1:      decl    %ecx
        jnz     1b
        nop
        ret
        .size   instr_canary, . - instr_canary

        .globl  instr_canary_snippet
        .type   instr_canary_snippet, @function
instr_canary_snippet:
        pushq   %rbx
        pushq   %r12
        subq    $8, %rsp
        movq    %rdi, %rbx
1:      movq    %rbx, %rdi
        call    *8(%rbx)                // context->next_block(context)
        testq   %rax, %rax
        jz      3f
        movq    %rax, %r12
2:      call    instr_canary
        decq    %r12
        jnz     2b
        jmp     1b
3:      addq    $8, %rsp
        popq    %r12
        popq    %rbx
        ret
        .size   instr_canary_snippet, . - instr_canary_snippet

        .globl  instr_canary_empty_snippet
        .type   instr_canary_empty_snippet, @function
instr_canary_empty_snippet:
        pushq   %rbx
        pushq   %r12
        subq    $8, %rsp
        movq    %rdi, %rbx
1:      movq    %rbx, %rdi
        call    *8(%rbx)
        testq   %rax, %rax
        jz      3f
        movq    %rax, %r12
2:      decq    %r12
        jnz     2b
        jmp     1b
3:      addq    $8, %rsp
        popq    %r12
        popq    %rbx
        ret
        .size   instr_canary_empty_snippet, . - instr_canary_empty_snippet

        .section .note.GNU-stack, "", @progbits
