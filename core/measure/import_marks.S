# The library that is preloaded into an interpreter whose import is counted
# (worker/python/import_marks.cpp), as a part of the program.
  .section .rodata
  .globl instr_import_marks
  .globl instr_import_marks_end
instr_import_marks:
  .incbin INSTR_IMPORT_MARKS
instr_import_marks_end:
  .section .note.GNU-stack,"",@progbits
