# The layout of `cmake --install`. All files find each other by relative paths, so that the prefix may be
# moved afterwards.

# Completions, man pages and the JSON Schema of definitions are printed by the program itself.
set(generated ${PROJECT_BINARY_DIR}/generated)
set(generated_files ${generated}/man1/instr_bench.1 ${generated}/bash/instr_bench
  ${generated}/zsh/_instr_bench ${generated}/fish/instr_bench.fish
  ${generated}/definition.schema.json)
add_custom_command(OUTPUT ${generated_files}
  COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:instr_bench> -DTOOLS=${PROJECT_SOURCE_DIR}/tools
    -DFOLDER=${generated} -P ${PROJECT_SOURCE_DIR}/cmake/generate.cmake
  DEPENDS instr_bench cmake/generate.cmake tools/merge-comment
  COMMENT "Generating completions, man pages and the schema" VERBATIM)
add_custom_target(pages ALL DEPENDS ${generated_files})

set(own_share ${CMAKE_INSTALL_DATADIR}/instr_bench)
install(TARGETS instr_bench)
install(DIRECTORY worker definitions suites tools/selftest DESTINATION ${own_share}
  FILES_MATCHING REGEX "\\.(cpp|h|S|inc|py|toml)$")
if(INSTR_STATIC_SIMDJSON)
  install(TARGETS python_worker DESTINATION ${own_share}/worker/python/prebuilt)
endif()
install(FILES ${generated}/definition.schema.json docs/AGENTS.md DESTINATION ${own_share})
install(PROGRAMS tools/merge-comment DESTINATION ${CMAKE_INSTALL_BINDIR} RENAME instr_bench-merge-comment)

install(FILES README.md CHANGELOG.md CONTRIBUTING.md RELEASING.md LICENSE
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING REGEX "/[A-Za-z]")

install(FILES ${generated}/man1/instr_bench.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(DIRECTORY ${generated}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
install(FILES ${generated}/bash/instr_bench
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${generated}/fish/instr_bench.fish
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
# zsh looks in the first below /usr, and in the second below /usr/local.
install(FILES ${generated}/zsh/_instr_bench
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES ${generated}/zsh/_instr_bench
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)

# For find_package(instr_bench). In share/, since it is the same for every architecture.
include(CMakePackageConfigHelpers)
set(own_cmake ${CMAKE_INSTALL_DATADIR}/cmake/instr_bench)
configure_package_config_file(cmake/instr_benchConfig.cmake.in
  ${PROJECT_BINARY_DIR}/cmake/instr_benchConfig.cmake INSTALL_DESTINATION ${own_cmake}
  PATH_VARS CMAKE_INSTALL_BINDIR NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/instr_benchConfigVersion.cmake
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/cmake/instr_benchConfig.cmake
  ${PROJECT_BINARY_DIR}/cmake/instr_benchConfigVersion.cmake DESTINATION ${own_cmake})
