#include "core/compile/libtorch.h"

#include <elf.h>

#include <cstdlib>
#include <cstring>
#include <list>

#include "core/compile/cache.h"
#include "core/compile/elf.h"
#include "tests/testing.h"

namespace instr::libtorch_test {
namespace {

using namespace testing;

// Makes the parts of a shared object that read_build_id() reads: a header, a segment of notes,
// notes.
std::string elf_with_notes(const std::string& notes) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  Elf64_Phdr segment{};
  segment.p_type = PT_NOTE;
  segment.p_offset = sizeof header + sizeof segment;
  segment.p_filesz = notes.size();
  return std::string(reinterpret_cast<char*>(&header), sizeof header) +
         std::string(reinterpret_cast<char*>(&segment), sizeof segment) + notes;
}

std::string note(std::uint32_t type, const std::string& name, const std::string& content) {
  Elf64_Nhdr header{};
  header.n_namesz = static_cast<std::uint32_t>(name.size() + 1);
  header.n_descsz = static_cast<std::uint32_t>(content.size());
  header.n_type = type;
  std::string text(reinterpret_cast<char*>(&header), sizeof header);
  for (const std::string& part : {name + '\0', content}) {
    text += part + std::string((4 - part.size() % 4) % 4, '\0');
  }
  return text;
}

class LibTorchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name :
         {"TORCH_DIR", "Torch_DIR", "Torch_ROOT", "LIBTORCH", "CMAKE_PREFIX_PATH", "VIRTUAL_ENV",
          "CONDA_PREFIX", "HOME", "CUDA_HOME", "CUDA_PATH"}) {
      variables_.emplace_back(name);
    }
  }

  fs::path root() const { return folder_.path(); }

  static void put(const fs::path& file, const std::string& text) {
    fs::create_directories(file.parent_path());
    ASSERT_TRUE(write_text(file, text));
  }

  static void put_libtorch(const fs::path& at, const std::string& version) {
    put(at / "include/torch/csrc/api/include/torch/torch.h", "");
    std::size_t dot = version.find('.');
    std::size_t dot2 = version.find('.', dot + 1);
    put(at / "include/torch/headeronly/version.h",
        "#define TORCH_VERSION_MAJOR " + version.substr(0, dot) + "\n#define TORCH_VERSION_MINOR " +
            version.substr(dot + 1, dot2 - dot - 1) + "\n#define TORCH_VERSION_PATCH " +
            version.substr(dot2 + 1) + "\n");
    put(at / "lib/libtorch_cpu.so",
        elf_with_notes(note(1, "GNU", "abcd") + note(NT_GNU_BUILD_ID, "GNU", "\x01\xfe\x20")));
    put(at / "lib/libtorch.so", "");
    put(at / "lib/libc10.so", "_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_string");
  }

  TemporaryFolder folder_;
  ScopedVariable path_{"PATH", root() / "no-programs"};
  std::list<ScopedVariable> variables_;
};

TEST_F(LibTorchTest, DescribesTheLibTorchFound) {
  put_libtorch(root() / "a", "2.13.0");
  auto torch = find_libtorch(root() / "a");
  ASSERT_TRUE(torch) << to_string(torch.error());
  EXPECT_EQ(torch->root, root() / "a");
  EXPECT_EQ(torch->found_by, "--libtorch");
  EXPECT_EQ(torch->version, "2.13.0");
  EXPECT_EQ(torch->build_id, "01fe20");
  EXPECT_EQ(
      torch->include_dirs,
      (std::vector<fs::path>{root() / "a/include", root() / "a/include/torch/csrc/api/include"}));
  EXPECT_EQ(torch->library_dir, root() / "a/lib");
  EXPECT_EQ(torch->libraries, (std::vector<std::string>{"torch", "torch_cpu", "c10"}));
  EXPECT_EQ(torch->defines, (std::vector<std::string>{"_GLIBCXX_USE_CXX11_ABI=1"}));
  EXPECT_FALSE(torch->has_cuda);
}

// As an include folder, the system's headers would precede the C++ library's.
TEST_F(LibTorchTest, ALinkToTheSystemsFolderIsASystemFolder) {
  if (!fs::exists("/usr/include/torch/csrc/api/include/torch/torch.h")) GTEST_SKIP();
  fs::create_directory_symlink("/usr", root() / "link");
  auto torch = find_libtorch(root() / "link");
  ASSERT_TRUE(torch) << to_string(torch.error());
  EXPECT_EQ(torch->include_dirs,
            (std::vector<fs::path>{root() / "link/include/torch/csrc/api/include"}));
}

// Its header keeps the number of the first patch.
TEST_F(LibTorchTest, DebiansVersionIsThatOfItsPackage) {
  put_libtorch(root() / "usr", "1.13.0");
  const auto version = [this] { return value_of(find_libtorch(root() / "usr")).version; };
  EXPECT_EQ(version(), "1.13.0");
  const fs::path packages = root() / "var/lib/dpkg/status";
  put(packages,
      "Package: libtorch-devel\nVersion: 9.0-1\n\n"
      "Package: libtorch-dev\nStatus: install ok installed\nDescription: Tensors\n and more\n"
      "Version: 1.13.1+dfsg-4\n\nPackage: other\nVersion: 2.0-1\n");
  EXPECT_EQ(version(), "1.13.1");
  put(packages, "Package: libtorch-dev\nVersion: 2:1.12.1-4\n");  // another one was built in /usr
  EXPECT_EQ(version(), "1.13.0");
  put(packages, "Package: libtorch-dev\n\nPackage: other\nVersion: 1.13.1-1\n");
  EXPECT_EQ(version(), "1.13.0");
}

TEST_F(LibTorchTest, ReadsOtherLayouts) {
  fs::path a = root() / "a";
  put_libtorch(a, "2.13.0");
  fs::remove(a / "include/torch/headeronly/version.h");
  put(a / "include/torch/csrc/api/include/torch/version.h",
      "/// #define x\n#define TORCH_VERSION_MAJOR 1\n#define TORCH_VERSION_MINOR 13\n"
      "#define TORCH_VERSION_PATCH 1\n");
  put(a / "lib/libc10.so", "_ZN3c105ErrorC2ENS_14SourceLocationESs");
  put(a / "lib/libtorch_cpu.so", "no shared object");
  put(a / "lib/libtorch_cuda.so", "");
  auto torch = find_libtorch(a);
  ASSERT_TRUE(torch);
  EXPECT_EQ(torch->version, "1.13.1");
  EXPECT_EQ(torch->defines, (std::vector<std::string>{"_GLIBCXX_USE_CXX11_ABI=0"}));
  EXPECT_EQ(torch->build_id.size(), 32u);  // a hash of the content
  EXPECT_TRUE(torch->has_cuda);
  fs::remove(a / "include/torch/csrc/api/include/torch/version.h");
  put(a / "version.py", "from typing import Optional\n__version__ = '2.4.1+cpu'\ncuda = None\n");
  EXPECT_EQ(find_libtorch(a)->version, "2.4.1");
}

TEST_F(LibTorchTest, FindsTheHeadersOfCuda) {
  const fs::path packages = root() / "venv/lib/python3.11/site-packages";
  const auto headers = [&] { return find_libtorch(packages / "torch")->cuda_headers; };
  const auto put_headers = [](const fs::path& folder) {
    put(folder / "cuda_runtime_api.h", "");
    put(folder / "crt/host_defines.h", "");
  };
  put_libtorch(packages / "torch", "2.13.0");
  put_headers(packages / "nvidia/cuda_runtime/include");
  EXPECT_EQ(headers(), std::nullopt);  // not needed by a LibTorch without CUDA
  put(packages / "torch/lib/libtorch_cuda.so", "");
  EXPECT_EQ(headers(), packages / "nvidia/cuda_runtime/include");
  put(packages / "nvidia/cu13/include/cuda_runtime_api.h", "");  // incomplete
  EXPECT_EQ(headers(), packages / "nvidia/cuda_runtime/include");
  put_headers(packages / "nvidia/cu13/include");
  EXPECT_EQ(headers(), packages / "nvidia/cu13/include");
  put_headers(root() / "toolkit/include");
  ::setenv("CUDA_HOME", (root() / "toolkit").c_str(), 1);
  EXPECT_EQ(headers(), root() / "toolkit/include");
}

TEST_F(LibTorchTest, AcceptsAParentOrSubfolder) {
  put_libtorch(root() / "venv/lib/python3.11/site-packages/torch", "2.13.0");
  fs::path torch = root() / "venv/lib/python3.11/site-packages/torch";
  fs::create_directories(torch / "share/cmake/Torch");
  for (const fs::path& name :
       {torch, root() / "venv", torch.parent_path(), torch / "share/cmake/Torch", torch / "lib",
        fs::path(torch.string() + "/")}) {
    EXPECT_EQ(value_of(find_libtorch(name)).root, torch) << name;
  }
}

TEST_F(LibTorchTest, SearchesInTheDocumentedOrder) {
  put_libtorch(root() / "named", "2.1.0");
  put_libtorch(root() / "variable", "2.2.0");
  put_libtorch(root() / "prefix", "2.3.0");
  put_libtorch(root() / "venv/lib/python3.11/site-packages/torch", "2.4.0");
  put_libtorch(root() / "usr/lib/python3.9/site-packages/torch", "2.5.0");
  put_libtorch(root() / "usr/lib/python3.12/site-packages/torch", "2.6.0");
  put(root() / "usr/bin/python3", "");
  fs::permissions(root() / "usr/bin/python3", fs::perms::owner_all);
  ::setenv("TORCH_DIR", (root() / "variable").c_str(), 1);
  ::setenv("CMAKE_PREFIX_PATH",
           ((root() / "nothing").string() + ":" + (root() / "prefix").string()).c_str(), 1);
  ::setenv("VIRTUAL_ENV", (root() / "venv").c_str(), 1);
  ::setenv("PATH", (root() / "usr/bin").c_str(), 1);
  auto check = [](const std::optional<fs::path>& requested, const char* version, const char* by) {
    auto torch = value_of(find_libtorch(requested));
    EXPECT_EQ(torch.version, version);
    EXPECT_EQ(torch.found_by, by);
  };
  check(root() / "named", "2.1.0", "--libtorch");
  check(std::nullopt, "2.2.0", "TORCH_DIR");
  ::unsetenv("TORCH_DIR");
  check(std::nullopt, "2.3.0", "CMAKE_PREFIX_PATH");
  ::unsetenv("CMAKE_PREFIX_PATH");
  check(std::nullopt, "2.4.0", "python");
  ::unsetenv("VIRTUAL_ENV");
  check(std::nullopt, "2.6.0", "python");
}

TEST_F(LibTorchTest, TheActivePythonMayBeAVirtualEnvironmentsLink) {
  put(root() / "usr/bin/python3.11", "");
  fs::permissions(root() / "usr/bin/python3.11", fs::perms::owner_all);
  put(root() / "venv/pyvenv.cfg", "");
  fs::create_directories(root() / "venv/bin");
  fs::create_symlink(root() / "usr/bin/python3.11", root() / "venv/bin/python3");
  put_libtorch(root() / "venv/lib/python3.11/site-packages/torch", "2.4.0");
  ::setenv("PATH", (root() / "venv/bin").c_str(), 1);
  EXPECT_EQ(value_of(find_libtorch(std::nullopt)).version, "2.4.0");
}

TEST_F(LibTorchTest, ANamedPlaceWithoutLibTorchIsAnError) {
  put_libtorch(root() / "venv/lib/python3.11/site-packages/torch", "2.4.0");
  ::setenv("VIRTUAL_ENV", (root() / "venv").c_str(), 1);
  auto missing = find_libtorch(root() / "nothing");
  ASSERT_FALSE(missing);
  EXPECT_HAS(missing.error().what, "there is no such folder");
  EXPECT_FALSE(missing.error().advice.empty());
  put(root() / "half/lib/libtorch_cpu.so", "");
  ::setenv("TORCH_DIR", (root() / "half").c_str(), 1);
  auto half = find_libtorch(std::nullopt);
  ASSERT_FALSE(half);
  EXPECT_EQ(half.error().what.rfind("TORCH_DIR names '", 0), 0u);
  EXPECT_HAS(half.error().what, "no headers");
}

TEST_F(LibTorchTest, BuildIdsOfOddFiles) {
  fs::path file = root() / "x.so";
  EXPECT_FALSE(read_build_id(file));
  for (const std::string& text :
       {std::string(),
        std::string("\x7f"
                    "ELF"),
        elf_with_notes(""), elf_with_notes("short"), elf_with_notes(note(1, "GNU", "abcd")),
        elf_with_notes(note(NT_GNU_BUILD_ID, "Go", "abcd")),
        elf_with_notes(note(NT_GNU_BUILD_ID, "GNU", "abcd").substr(0, 14))}) {
    put(file, text);
    EXPECT_FALSE(read_build_id(file)) << text.size();
  }
  std::string beyond = note(NT_GNU_BUILD_ID, "GNU", "abcd");
  beyond[4] = 64;  // the size of the content
  put(file, elf_with_notes(beyond));
  EXPECT_FALSE(read_build_id(file));
  std::string whole = elf_with_notes(note(NT_GNU_BUILD_ID, "GNU", "abcd"));
  put(file, whole);
  EXPECT_EQ(read_build_id(file), "61626364");
  put(file, whole.substr(0, whole.size() - 1));
  EXPECT_FALSE(read_build_id(file));
}

}  // namespace
}  // namespace instr::libtorch_test
