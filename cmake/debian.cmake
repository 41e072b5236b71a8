# Run by CPack on what it is about to pack: the layout that Debian's policy asks for, and nothing that only
# other systems have.
set(usr ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr)
file(REMOVE_RECURSE ${usr}/share/zsh/site-functions)
set(doc ${usr}/share/doc/instr-bench)
file(RENAME ${usr}/share/doc/instr_bench ${doc})
file(RENAME ${doc}/LICENSE ${doc}/copyright)
file(RENAME ${doc}/CHANGELOG.md ${doc}/changelog)
file(GLOB compressed ${doc}/changelog ${usr}/share/man/man1/*.1)
execute_process(COMMAND gzip -9n ${compressed} COMMAND_ERROR_IS_FATAL ANY)
