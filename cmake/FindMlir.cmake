# MLIR 22, linked statically (it starts ten times faster than the shared library, and lives beside other copies in one process).
find_package(MLIR 22.1 REQUIRED CONFIG PATHS /usr/lib/llvm-22/lib/cmake/mlir)
find_program(MLIR_TABLEGEN_EXE mlir-tblgen PATHS /usr/lib/llvm-22/bin NO_DEFAULT_PATH REQUIRED)
list(GET MLIR_INCLUDE_DIRS 0 MLIR_INCLUDE_DIR)

# The package's static libraries ask for the shared libLLVM; the static parts that MLIR uses take its place.
foreach(library ${MLIR_EXPORTED_TARGETS})
  if(TARGET ${library})
    get_target_property(needs ${library} INTERFACE_LINK_LIBRARIES)
    if(needs)
      list(TRANSFORM needs REPLACE "^LLVM$" "LLVMSupport;LLVMCore")
      set_target_properties(${library} PROPERTIES INTERFACE_LINK_LIBRARIES "${needs}")
    endif()
  endif()
endforeach()
