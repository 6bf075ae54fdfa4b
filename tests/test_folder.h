// A temporary folder for the tests that need real files.
#pragma once

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "tests/catch.h"

namespace evolve::tests {

// A folder of one test. The folder is removed when the test passes. When the test fails, the folder
// is kept and its name is reported.
class TestFolder {
 public:
  TestFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "evolve-test-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TestFolder() {
    if (std::uncaught_exceptions() == 0) {
      std::error_code error;
      std::filesystem::remove_all(path_, error);
    } else {
      WARN("test data left in " << path_);
    }
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ + "/" + name) << text;
  }

 private:
  std::string path_;
};

}  // namespace evolve::tests
