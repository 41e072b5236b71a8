// Completions in their shells, and man pages read by man.

#include "core/commands/cli/command.h"
#include "tests/formats/consumers.h"

namespace instr::formats::shells_test {
namespace {

// Returns the suggestions of the shell for a line that ends at the cursor, a word per line.
class Shells : public ConsumerTest {
 protected:
  Shells() {
    setenv("PATH",
           (fs::path(INSTR_BENCH_PROGRAM).parent_path().string() + ":" + getenv("PATH")).c_str(),
           1);
  }

  std::string script(const std::string& shell) const {
    return write("completion." + shell, run({INSTR_BENCH_PROGRAM, "generate", shell}));
  }

  std::string bash(const std::string& words) const {
    return run({"bash", "-c",
                ". \"$1\"; compopt() { :; }; COMP_WORDS=(" + words +
                    "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _instr_bench; "
                    "printf '%s\\n' \"${COMPREPLY[@]}\"",
                "bash", script("bash")});
  }

  std::string fish(const std::string& line) const {
    return run({"fish", "-N", "-c", "source $argv[1]; complete -C $argv[2]", script("fish"), line});
  }

  // Returns the line after the tab key was pressed. Uses a terminal, since zsh completes only
  // there.
  std::string zsh(const std::string& line) const {
    const std::string driver = write("driver.zsh", R"sh(
zmodload zsh/zpty
zpty shell 'COLUMNS=200 zsh -f -i'
until_there() {
  local text= part
  while [[ $text != *$1* ]]; do zpty -r shell part; text+=$part; done
  print -r -- $text
}
zpty -w shell 'PS1=; autoload -U compinit; compinit -D; source '${(q)1}'; print READY$((1))'
until_there READY1 >/dev/null
widget='report() { print -r -- "{{$BUFFER}}"; BUFFER=; zle .accept-line; }; zle -N report; bindkey "^X^R" report'
# The keys must not arrive before the line editor does: the terminal would take ^R for itself.
widget+='; zle-line-init() { print -r -- READY$((2)); }; zle -N zle-line-init'
zpty -w shell $widget
until_there READY2 >/dev/null
zpty -w -n shell $2$'\t\x18\x12'
until_there '}}'
)sh");
    const std::string out = run({"timeout", "300", "zsh", "-f", driver, script("zsh"), line});
    const std::size_t begin = out.rfind("{{");
    if (begin == out.npos) return out;
    return out.substr(begin + 2, out.find("}}", begin) - begin - 2);
  }
};

TEST_F(Shells, BashCompletes) {
  EXPECT_EQ(bash("instr_bench --back"), "--backend=\n");
  EXPECT_EQ(bash("instr_bench comp"), "compare\n");
  EXPECT_EQ(bash("instr_bench --backend = eag"), "eager\n");
  EXPECT_EQ(bash("instr_bench --backend = eager,to"), "eager,torchscript\n");
  EXPECT_EQ(bash("instr_bench plot main --kind = s"), "speedup\n");
  EXPECT_EQ(bash("instr_bench list --jo"), "\n") << "list has no --jobs";
  EXPECT_EQ(bash("instr_bench explain matmul/mm/n=4/ea"), "matmul/mm/n=4/eager/forward/t1/cpu\n");
}

TEST_F(Shells, FishCompletes) {
  EXPECT_EQ(fish("instr_bench --backe").find("--backend\t"), 0u);
  EXPECT_EQ(fish("instr_bench comp").find("compare\t"), 0u);
  EXPECT_EQ(fish("instr_bench --backend=eager,to").find("--backend=eager,torchscript\t"), 0u);
  EXPECT_EQ(fish("instr_bench plot main --kind=s").find("--kind=speedup\t"), 0u);
  EXPECT_EQ(fish("instr_bench list --jo"), "");
  EXPECT_EQ(fish("instr_bench explain matmul/mm/n=4/ea"), "matmul/mm/n=4/eager/forward/t1/cpu\n");
}

TEST_F(Shells, ZshCompletes) {
  EXPECT_EQ(zsh("instr_bench --backe"), "instr_bench --backend=");
  EXPECT_EQ(zsh("instr_bench comp"), "instr_bench compare ");
  EXPECT_EQ(zsh("instr_bench --backend=eager,to"), "instr_bench --backend=eager,torchscript,");
  EXPECT_EQ(zsh("instr_bench plot main --kind=s"), "instr_bench plot main --kind=speedup ");
  EXPECT_EQ(zsh("instr_bench list --jo"), "instr_bench list --jo");
  EXPECT_EQ(zsh("instr_bench explain matmul/mm/n=4/ea"),
            "instr_bench explain matmul/mm/n=4/eager/forward/t1/cpu ");
}

TEST_F(Shells, ManPagesAreReadable) {
  for (const Command& command : commands()) {
    const std::string page =
        write("page.1", run({INSTR_BENCH_PROGRAM, "generate", "man", command.name}));
    run({"mandoc", "-T", "lint", "-W", "error", page});
    const std::string text = run({"mandoc", "-T", "utf8", page});
    EXPECT_HAS(text, "print this");
  }
}

}  // namespace
}  // namespace instr::formats::shells_test
