# The toolchain for systems that Debian has no compilers for. zig carries the headers and libraries of all of them;
# `./dev ports` installs it. KITH_ZIG is its name for the system: aarch64-macos, x86_64-windows-gnu …
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES KITH_ZIG)
set(zig ${CMAKE_CURRENT_LIST_DIR}/../build/zig/ziglang/zig)
if(KITH_ZIG MATCHES "-macos")
  set(CMAKE_SYSTEM_NAME Darwin)
  set(CMAKE_INSTALL_NAME_TOOL ${zig}) # CMake wants to know one, and these builds are not installed
elseif(KITH_ZIG MATCHES "-freebsd")
  set(CMAKE_SYSTEM_NAME FreeBSD)
elseif(KITH_ZIG MATCHES "-windows")
  set(CMAKE_SYSTEM_NAME Windows)
else()
  message(FATAL_ERROR "KITH_ZIG is \"${KITH_ZIG}\", which is not a system of cmake/zig.cmake")
endif()
string(REGEX REPLACE "-.*" "" CMAKE_SYSTEM_PROCESSOR ${KITH_ZIG})

# CMake calls each tool by one name.
foreach(tool cc ar ranlib)
  set(wrapper ${CMAKE_BINARY_DIR}/zig-${tool})
  set(target "")
  if(tool STREQUAL "cc")
    set(target "-target ${KITH_ZIG}")
  endif()
  if(NOT EXISTS ${wrapper})
    file(WRITE ${wrapper} "#!/bin/sh\nexec ${zig} ${tool} ${target} \"$@\"\n")
    file(CHMOD ${wrapper} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  endif()
endforeach()
set(CMAKE_C_COMPILER ${CMAKE_BINARY_DIR}/zig-cc)
set(CMAKE_AR ${CMAKE_BINARY_DIR}/zig-ar)
set(CMAKE_RANLIB ${CMAKE_BINARY_DIR}/zig-ranlib)
# Nothing of this system.
set(CMAKE_FIND_ROOT_PATH ${CMAKE_BINARY_DIR}/root)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
# Programs compute with sizes that are enum constants, which new versions of clang warn of.
set(CMAKE_C_FLAGS_INIT -Wno-error=enum-float-conversion)
