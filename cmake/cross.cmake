# The toolchain for tests that run in an emulator: qemu-user for other processors, with Debian's cross compilers, or
# valgrind for this one; or with another C library, musl. KITH_CROSS says which. The processors cover what x86-64 does
# not have: NEON (aarch64), a size_t of 32 bits and no 128-bit integers (armhf), big-endian byte order (s390x), a plain
# char without a sign (all of them), no vector code at all (riscv64).
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

if(KITH_CROSS STREQUAL "musl")
  set(CMAKE_SYSTEM_PROCESSOR ${CMAKE_HOST_SYSTEM_PROCESSOR})
  set(triplet ${CMAKE_HOST_SYSTEM_PROCESSOR}-linux-musl)
  # Debian has musl 1.2.3. Since 1.2.4, _GNU_SOURCE no longer declares the names that end with 64 (stat64 …). The
  # headers are copied with this change, and the specs of musl-gcc with their place.
  set(libc ${CMAKE_CURRENT_LIST_DIR}/../build/musl/libc)
  if(NOT EXISTS ${libc}/specs)
    if(NOT EXISTS /usr/lib/${triplet}/musl-gcc.specs)
      message(FATAL_ERROR "musl is missing: install Debian's musl-tools")
    endif()
    file(COPY /usr/include/${triplet}/ DESTINATION ${libc}/include)
    file(GLOB_RECURSE headers ${libc}/include/*.h)
    foreach(header ${headers})
      file(READ ${header} text)
      string(REPLACE "#if defined(_LARGEFILE64_SOURCE) || defined(_GNU_SOURCE)" "#ifdef _LARGEFILE64_SOURCE" changed
        "${text}")
      if(NOT changed STREQUAL text)
        file(WRITE ${header} "${changed}")
      endif()
    endforeach()
    file(READ /usr/lib/${triplet}/musl-gcc.specs text)
    string(REPLACE /usr/include/${triplet} ${libc}/include text "${text}")
    file(WRITE ${libc}/specs "${text}")
  endif()
  set(CMAKE_C_COMPILER gcc)
  set(CMAKE_C_FLAGS_INIT -specs=${libc}/specs)
  # Nothing of the system's other C library: no libraries, and no headers but the copied ones.
  set(CMAKE_FIND_ROOT_PATH ${libc})
  set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
  set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
  set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
  # The programs run as they are, but without an emulator CMake would not run any of them in the build.
  set(CMAKE_CROSSCOMPILING_EMULATOR env)
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
