# Library that SimGrid preloads and uses as its platform: the modelled machine, and replacements of SimGrid's functions.
set(KIVIAT_PLATFORM_SOURCES ${CMAKE_CURRENT_LIST_DIR}/platform.cpp
  ${CMAKE_CURRENT_LIST_DIR}/smpi_overrides/alltoall.cpp ${CMAKE_CURRENT_LIST_DIR}/smpi_overrides/leaders.cpp
  ${CMAKE_CURRENT_LIST_DIR}/smpi_overrides/mpich.cpp ${CMAKE_CURRENT_LIST_DIR}/smpi_overrides/node_aware.cpp
  ${CMAKE_CURRENT_LIST_DIR}/smpi_overrides/nodes.cpp ${CMAKE_CURRENT_LIST_DIR}/smpi_overrides/ompi.cpp
  ${CMAKE_CURRENT_LIST_DIR}/smpi_overrides/packing.cpp
  ${CMAKE_CURRENT_LIST_DIR}/smpi_overrides/shared_memory.cpp ${CMAKE_CURRENT_LIST_DIR}/smpi_overrides/working_set.cpp)
add_library(kiviat-platform SHARED ${KIVIAT_PLATFORM_SOURCES} ${CMAKE_CURRENT_LIST_DIR}/max_min.cpp
  ${CMAKE_CURRENT_LIST_DIR}/detached.cpp)
target_include_directories(kiviat-platform PRIVATE ${CMAKE_CURRENT_LIST_DIR}/..)
set_target_properties(kiviat-platform PROPERTIES CXX_VISIBILITY_PRESET default)
