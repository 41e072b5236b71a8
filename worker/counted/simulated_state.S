// Code with an effect on Callgrind's simulated caches and branch predictor alone.
        .text

// As many lines of code as the first-level cache holds.
        .balign 64
        .globl  instr_run_cache_lines
        .type   instr_run_cache_lines, @function
instr_run_cache_lines:
        .rept   511
        jmp     1f
        .balign 64
1:
        .endr
        ret
        .size   instr_run_cache_lines, . - instr_run_cache_lines

// void instr_run_jumps(void* self): indirect jumps at 512 addresses, 7 bytes apart, each to the next.
// The predictor keeps a target for each value of an address's lower 9 bits.
        .globl  instr_run_jumps
        .type   instr_run_jumps, @function
instr_run_jumps:
        .rept   512
        leaq    7(%rdi), %rdi
        jmp     *%rdi
        nop
        .endr
        ret
        .size   instr_run_jumps, . - instr_run_jumps

// The next bit of the pattern decides a branch to the next instruction.
        .macro  next_branch
        addq    %rax, %rax
        jc      1f
1:
        .endm

// void instr_run_branches(uint64_t pattern): takes branches as the pattern's upper 63 bits say, 9 times
// the same 7. Once 7 branches have set the history, each branch has the outcome of the branch 7 before
// it, so that each history has a single outcome. There are branches at all addresses that the predictor
// distinguishes. Each runs three times with the same history and outcome, so that its counter becomes 0
// or 3. No other conditional branch may run in between.
        .balign 64
        .globl  instr_run_branches
        .type   instr_run_branches, @function
instr_run_branches:
        movq    %rdi, %rax
        .rept   7
        next_branch
        .endr
        call    run_all_addresses
        call    run_all_addresses
        jmp     run_all_addresses
        .size   instr_run_branches, . - instr_run_branches

// 133 branches, 129 bytes apart: 19 times 7, so that the pattern begins anew with each call.
        .balign 64
        .type   run_all_addresses, @function
run_all_addresses:
        .set    position, 0
        .rept   133
        .org    run_all_addresses + 129 * position
        .if     position % 63 == 0
        movq    %rdi, %rax
        .else
        nopl    (%rax)                  // 3 bytes, as movq has
        .endif
        next_branch
        .if     position < 132
        jmp     run_all_addresses + 129 * (position + 1)
        .endif
        .set    position, position + 1
        .endr
        ret
        .size   run_all_addresses, . - run_all_addresses

        .section .note.GNU-stack, "", @progbits
