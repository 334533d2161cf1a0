# The toolchain for tests that run in an emulator: qemu-user for other processors, with Debian's cross compilers, or
# valgrind for this one. KITH_CROSS says which. The processors cover what x86-64 does not have: NEON (aarch64), a size_t
# of 32 bits and no 128-bit integers (armhf), big-endian byte order (s390x), a plain char without a sign (all of them),
# no vector code at all (riscv64).
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES KITH_CROSS)
set(CMAKE_SYSTEM_NAME Linux)
if(KITH_CROSS STREQUAL "valgrind")
  set(CMAKE_SYSTEM_PROCESSOR ${CMAKE_HOST_SYSTEM_PROCESSOR})
  set(CMAKE_C_COMPILER gcc)
  # The library's allocator returns an aligned address inside a block, so a block that is still in use at the end would
  # count as possibly lost. A block that is lost has no pointer at all.
  set(CMAKE_CROSSCOMPILING_EMULATOR valgrind --quiet --error-exitcode=99 --leak-check=full
    --show-leak-kinds=definite --errors-for-leak-kinds=definite
    --suppressions=${CMAKE_CURRENT_LIST_DIR}/../tests/valgrind.supp)
  return()
endif()

if(KITH_CROSS STREQUAL "aarch64")
  set(triplet aarch64-linux-gnu)
  set(emulator qemu-aarch64)
elseif(KITH_CROSS STREQUAL "armhf")
  set(triplet arm-linux-gnueabihf)
  set(emulator qemu-arm)
elseif(KITH_CROSS STREQUAL "riscv64")
  set(triplet riscv64-linux-gnu)
  set(emulator qemu-riscv64)
elseif(KITH_CROSS STREQUAL "s390x")
  set(triplet s390x-linux-gnu)
  set(emulator qemu-s390x)
else()
  message(FATAL_ERROR "KITH_CROSS is \"${KITH_CROSS}\", which is not a processor of cmake/cross.cmake")
endif()

string(REGEX REPLACE "-.*" "" CMAKE_SYSTEM_PROCESSOR ${triplet})
set(CMAKE_C_COMPILER ${triplet}-gcc)
set(CMAKE_FIND_ROOT_PATH /usr/${triplet})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
# The folder of the C library of that processor, for the dynamic loader.
set(CMAKE_CROSSCOMPILING_EMULATOR ${emulator} -L /usr/${triplet})
