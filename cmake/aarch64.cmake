# SPDX-License-Identifier: Apache-2.0
# To compile for 64-bit Arm on another machine, with Debian's cross compiler and its multiarch packages (preset arm64).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_ASM_COMPILER aarch64-linux-gnu-gcc)
# What is made runs by QEMU: the manuals, which the program itself writes, and the loader, which lists libraries.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static)
set(CYBELE_LIBRARIES /usr/lib/aarch64-linux-gnu)
set(ENV{PKG_CONFIG_LIBDIR} ${CYBELE_LIBRARIES}/pkgconfig:/usr/share/pkgconfig)
# The C library of libc6-dev:arm64, which gets Debian's security updates, before that of the compiler's own package.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-B${CYBELE_LIBRARIES} -L${CYBELE_LIBRARIES}")
