// A change of a module that a statement does not run moves no count, although it moves addresses.

#include "tests/e2e/python_fixture.h"
#include "tests/labels.h"

namespace instr::e2e::unrelated_change_test {
namespace {

class UnrelatedChange : public PythonTest {};
const RunsUnder kNewestLibtorch("newest", "UnrelatedChange.*");

// Links to all files of the tested torch, so that single ones can be replaced.
void link_torch(const fs::path& from, const fs::path& to) {
  fs::create_directory(to);
  for (const auto& entry : fs::recursive_directory_iterator(from)) {
    const fs::path copy = to / entry.path().lexically_relative(from);
    if (entry.is_directory()) {
      fs::create_directory(copy);
    } else {
      fs::create_symlink(entry.path(), copy);
    }
  }
}

// Puts functions and classes before the first ones of a module.
std::string with_more_code(const fs::path& module) {
  std::string text = text_of(module);
  std::string added;
  for (int i = 0; i < 20; ++i) {
    const std::string number = std::to_string(i);
    added += "\ndef _unused_" + number + "(first_" + number + ", second=7" + number + "777):\n";
    added += "    \"\"\"" + std::string(static_cast<std::size_t>(i) * 13 % 97, 'x') + "\"\"\"\n";
    added +=
        "    return [first_" + number + ".attribute_" + number + ", second, " + number + ".5]\n";
    added += "\nclass _Unused" + number + ":\n    member_" + number + " = {}\n\n";
  }
  const std::size_t first = std::min(text.find("\ndef "), text.find("\nclass "));
  return text.insert(text.rfind("\n\n", first) + 1, added);
}

TEST_F(UnrelatedChange, MovesNoCount) {
  write("all.toml", R"toml(schema = 1
[[benchmark]]
label = "linear"
py_setup = "module, x = torch.nn.Linear(4, 4), torch.ones(4, 4)"
py_stmt = "module(x)"

[[benchmark]]
label = "norm"
py_setup = "module, x = torch.nn.BatchNorm2d(4), torch.ones(2, 4, 4, 4)"
py_stmt = "module(x)"

[[benchmark]]
label = "list"
py_setup = "modules = [torch.nn.Linear(4, 4) for _ in range(4)]"
py_stmt = "torch.nn.ModuleList(modules)"
)toml");
  const fs::path torch = fs::canonical(getenv("TORCH_DIR"));
  std::vector<Records> both;
  for (const char* side : {"before", "after"}) {
    const fs::path folder = folder_.path() / side;
    fs::create_directory(folder);
    link_torch(torch, folder / "torch");
    if (both.size() == 1) {
      for (const char* module : {"_tensor.py", "nn/functional.py", "nn/modules/module.py"}) {
        fs::remove(folder / "torch" / module);  // a link
        folder_.write(std::string(side) + "/torch/" + module, with_more_code(torch / module));
      }
    }
    both.push_back(
        counted({"--python=" + python_of_libtorch().string()},
                {"TORCH_DIR=" + (folder / "torch").string(), "PYTHONPATH=" + folder.string()}));
  }
  ASSERT_EQ(both[0].size(), 3u);
  for (const auto& [key, record] : both[0]) {
    EXPECT_EQ(record.at("metrics"), both[1].at(key).at("metrics")) << key;
    EXPECT_TRUE(record.at("steady")) << key;
  }
}

// Each entry of the module path has a finder, which takes memory before all that is imported.
TEST_F(UnrelatedChange, MorePlacesOfModulesMoveNoCount) {
  write("all.toml", R"toml(schema = 1
[[benchmark]]
label = "relu"
py_setup = "module, x = torch.nn.ReLU(), torch.ones(4, 4)"
py_stmt = "module(x)"

[[benchmark]]
label = "multiply"
py_setup = "x = torch.ones(4, 4)"
py_stmt = "x * 3"

[[benchmark]]
label = "training"
py_setup = "module, x = torch.nn.Linear(4, 4), torch.ones(4, 4)"
py_stmt = "module(x).sum().backward()"
)toml");
  const std::string python = "--python=" + python_of_libtorch().string();
  const Records before = counted({python});
  ASSERT_EQ(before.size(), 3u);
  fs::create_directory(folder_.path() / "empty");
  folder_.write("full/never_imported.py", "");
  const std::string path =
      (folder_.path() / "empty").string() + ":" + (folder_.path() / "full").string();
  const Records after = counted({python}, {"PYTHONPATH=" + path});
  for (const auto& [key, record] : before) {
    EXPECT_EQ(record.at("metrics"), after.at(key).at("metrics")) << key;
  }
}

// libtorch_python makes a text for each lookup of __torch_function__, and the interpreter's cache
// of methods keeps it.
TEST_F(UnrelatedChange, MovesNoNameThatIsMadeAnew) {
  write("all.toml", R"toml(schema = 1
[[benchmark]]
label = "add"
py_setup = """
class Subclass(torch.Tensor):
    pass

others = [object() for _ in range({n})]
x = torch.ones(4).as_subclass(Subclass)
"""
py_stmt = "x + x"
matrix = { n = [0, 100, 300, 1000, 3000] }
)toml");
  const Records all = counted({"--python=" + python_of_libtorch().string()});
  ASSERT_EQ(all.size(), 5u);
  const auto& first = all.begin()->second;
  for (const auto& [key, record] : all) {
    EXPECT_EQ(record.at("metrics").at("instructions"), first.at("metrics").at("instructions"))
        << key;
  }
}

// The hash of a context variable is its place in the tree of a context.
TEST_F(UnrelatedChange, MovesNoContextVariable) {
  std::string definitions = "schema = 1\n";
  for (const char* before : {"", "others = [object() for _ in range(1000)]"}) {
    definitions += std::string("[[benchmark]]\nlabel = \"") + (*before == 0 ? "alone" : "after") +
                   "\"\npy_setup = \"\"\"\n" + before + R"(
from contextvars import ContextVar
one, other = ContextVar("patch[94315840]"), ContextVar("patch[94315840]")
assert hash(one) != hash(other)
ones = range(bin(hash(one)).count("1"))
"""
py_stmt = "for _ in ones: pass"
)";
  }
  write("all.toml", definitions);
  const Records both = counted({"--python=" + python_of_libtorch().string()}, {});
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both.at("alone/py/eager/forward/t1/cpu").at("metrics"),
            both.at("after/py/eager/forward/t1/cpu").at("metrics"));
}

}  // namespace
}  // namespace instr::e2e::unrelated_change_test
