# cmake -DPROGRAM=… -DTOOLS=… -DFOLDER=… -P generate.cmake: has the program print its completions, man
# pages and JSON Schemas into the folder.
function(generate file)
  get_filename_component(folder ${FOLDER}/${file} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  execute_process(COMMAND ${PROGRAM} generate ${ARGN}
    OUTPUT_FILE ${FOLDER}/${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${FOLDER})  # files from an earlier version
generate(bash/instr_bench bash)
generate(zsh/_instr_bench zsh)
generate(fish/instr_bench.fish fish)
generate(man1/instr_bench.1 man)
generate(definition.schema.json schema definitions)
generate(commands commands)
file(STRINGS ${FOLDER}/commands commands)
list(POP_FRONT commands)  # the default command: its page is the program's
foreach(command IN LISTS commands)
  generate(man1/instr_bench-${command}.1 man ${command})
endforeach()

# The page of the tool installed beside the program is the comment that it begins with.
file(READ ${TOOLS}/merge-comment text)
string(REGEX MATCH "# tools[^\n]*\n(#[^\n]*\n)*" text "${text}")
string(REGEX REPLACE "(^|\n)# ?" "\\1" text "${text}")
string(REPLACE "tools/" "instr_bench-" text "${text}")
string(REPLACE "-" "\\-" text "${text}")
file(WRITE ${FOLDER}/man1/instr_bench-merge-comment.1
  ".TH \"INSTR_BENCH-MERGE-COMMENT\" 1 \"\" \"instr_bench\"\n.SH NAME\ninstr_bench\\-merge\\-comment \\- post a report of instr_bench merge\\-check as a comment\n.SH DESCRIPTION\n.nf\n${text}.fi\n")
