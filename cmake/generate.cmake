# cmake -DPROGRAM=… -DFOLDER=… -P generate.cmake: has the program print its completions and man pages
# into the folder.
function(generate file)
  get_filename_component(folder ${FOLDER}/${file} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  execute_process(COMMAND ${PROGRAM} generate ${ARGN}
    OUTPUT_FILE ${FOLDER}/${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${FOLDER})  # what a command of an earlier version had
generate(bash/instr_bench bash)
generate(zsh/_instr_bench zsh)
generate(fish/instr_bench.fish fish)
generate(man1/instr_bench.1 man)
generate(commands commands)
file(STRINGS ${FOLDER}/commands commands)
list(POP_FRONT commands)  # what no command means: its page is the program's
foreach(command IN LISTS commands)
  generate(man1/instr_bench-${command}.1 man ${command})
endforeach()
