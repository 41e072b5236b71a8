# Run by CPack on the files to package: the layout that Debian's policy requires, without files for other
# systems.
set(usr ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr)
set(doc ${usr}/share/doc/instr-bench)
file(REMOVE_RECURSE ${usr}/share/zsh/site-functions)
file(RENAME ${usr}/share/doc/instr_bench ${doc})
file(RENAME ${doc}/LICENSE ${doc}/copyright)
string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${doc}/changelog "\
instr-bench (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * See CHANGELOG.md.

 -- ${CPACK_DEBIAN_PACKAGE_MAINTAINER}  ${now}
")
file(GLOB compressed ${doc}/changelog ${usr}/share/man/man1/*.1)
execute_process(COMMAND gzip -9n ${compressed} COMMAND_ERROR_IS_FATAL ANY)
if(DEFINED ENV{SOURCE_DATE_EPOCH})
  execute_process(COMMAND find ${usr} -exec touch --date=@$ENV{SOURCE_DATE_EPOCH} {} +
    COMMAND_ERROR_IS_FATAL ANY)
endif()
