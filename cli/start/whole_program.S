// SPDX-License-Identifier: Apache-2.0
// The whole program, an ELF file in this one. Its pages are mapped from this file, thus the alignment.
        .section .cybele.whole, "a", @progbits
        .balign 4096
        .globl kWholeProgram
        .hidden kWholeProgram
        .type kWholeProgram, @object
kWholeProgram:
        .incbin CYBELE_WHOLE_PROGRAM
        .balign 4096
        .section .note.GNU-stack, "", @progbits
