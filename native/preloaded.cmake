# Common settings of the small projects, mainly of libraries that any MPI program can preload.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
# No -Wshadow: nested calls are generic lambdas with parameters of the same names.
add_compile_options(-Wall -Wextra)

# `event` is the header that says what is made of a call (prof/parameters.hpp).
function(kiviat_preloaded name event)
  include(${CMAKE_CURRENT_FUNCTION_LIST_DIR}/mpi.cmake)
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_FUNCTION_LIST_DIR})
  target_compile_definitions(${name} PRIVATE KIVIAT_EVENT="${event}")
  # Uses the MPI's headers only: these libraries are also preloaded into shells and launchers, which have no MPI.
  target_include_directories(${name} SYSTEM PRIVATE $<TARGET_PROPERTY:MPI::MPI_CXX,INTERFACE_INCLUDE_DIRECTORIES>)
  target_compile_definitions(${name} PRIVATE $<TARGET_PROPERTY:MPI::MPI_CXX,INTERFACE_COMPILE_DEFINITIONS>)
  # Links the C++ library statically, because programs may have another one, an older one, or none.
  target_link_options(${name} PRIVATE -static-libstdc++ -static-libgcc -Wl,-z,defs
    -Wl,--version-script=${CMAKE_CURRENT_FUNCTION_LIST_DIR}/exported.map)
  target_link_libraries(${name} PRIVATE ${CMAKE_DL_LIBS})
endfunction()
