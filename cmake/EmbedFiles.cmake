# cmake -DFUNCTION=f -DOUT=o.cpp "-DFILES=a;b" -P EmbedFiles.cmake
# Writes a C++ file that holds the text of the given files as glia::BuiltinFile entries.
set(text "#include \"glia/Support/BuiltinFiles.h\"\n\nnamespace glia {\n\nstatic constexpr BuiltinFile kFiles[] = {\n")
foreach(file ${FILES})
  get_filename_component(name "${file}" NAME_WLE)
  file(READ "${file}" body)
  # Raw string literals hold at most 64 KiB portably; every file is far below.
  string(APPEND text "    {\"${name}\", R\"~~~(${body})~~~\"},\n")
endforeach()
string(APPEND text "};\n\nstd::span<const BuiltinFile> ${FUNCTION}() { return kFiles; }\n\n} // namespace glia\n")
file(WRITE "${OUT}" "${text}")
