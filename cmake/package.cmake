# The Debian package, which tools/package builds. dpkg-shlibdeps finds the linked libraries; the rest
# are the programs it runs, and those that compile the worker on the user's machine.
set(INSTR_MAINTAINER "the instr_bench authors <instr_bench@example.invalid>" CACHE STRING
  "Who made the package, with a mail address")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME instr-bench)
set(CPACK_PACKAGE_DESCRIPTION "\
instr_bench counts the instructions that snippets of C++ or TorchScript on
LibTorch execute, under Valgrind's Callgrind: seconds for a whole set, and the
same number every time. It compares runs with limits, names the function that
got slower, and fails a merge check for it.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/debian.cmake)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER ${INSTR_MAINTAINER})
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "valgrind, g++ (>= 4:10) | clang (>= 1:14), libbenchmark-dev")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "clang, libtorch-dev, gnuplot-nox, git")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "curl, jq")  # instr_bench-merge-comment
include(CPack)
