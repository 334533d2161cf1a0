# kith::kith is the shared library, kith::static the static one.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include("${CMAKE_CURRENT_LIST_DIR}/kithTargets.cmake")
