        .text

// void instr_call_on_stack(void (*function)(void*), void* argument, void* stack_top)
// Calls function(argument) on another stack. The unwind rules use the frame pointer, so that debuggers
// and uncaught exceptions can leave it.
        .globl  instr_call_on_stack
        .type   instr_call_on_stack, @function
instr_call_on_stack:
        .cfi_startproc
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        movq    %rdi, %rax
        movq    %rsi, %rdi
        movq    %rdx, %rsp
        call    *%rax
        movq    %rbp, %rsp
        popq    %rbp
        .cfi_def_cfa %rsp, 8
        ret
        .cfi_endproc
        .size   instr_call_on_stack, . - instr_call_on_stack

        .section .note.GNU-stack, "", @progbits
