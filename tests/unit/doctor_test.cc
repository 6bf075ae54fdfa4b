// Tests of what `evolve doctor` makes of a machine's answers.
#include "engine/app/doctor/doctor.h"

#include "engine/report/findings_text.h"
#include "tests/catch.h"

using namespace evolve;
using Is = Finding::State;

TEST_CASE("a disk that a build would fill is missing room, and a small one is a notice") {
  CHECK(disk_finding("/state", uintmax_t{100} << 30).state == Is::good);
  CHECK(disk_finding("/state", uintmax_t{5} << 30).state == Is::notice);
  CHECK(disk_finding("/state", uintmax_t{100} << 20).state == Is::missing);
}

TEST_CASE("little memory is a notice") {
  CHECK(memory_finding(16e9).state == Is::good);
  CHECK(memory_finding(2e9).state == Is::notice);
}

TEST_CASE("the answer of Python becomes findings about JAX and the sandbox") {
  const auto good = python_findings(R"({"jax": "0.10.2", "sandbox": "made by root"})");
  REQUIRE(good.size() == 2);
  CHECK(good[0].text == "0.10.2");
  CHECK(good[1].state == Is::good);
  const auto bad = python_findings(
      R"({"jax_fault": "ImportError: no", "sandbox_fault": "unshare: Operation not permitted\nhint: use root"})");
  REQUIRE(bad.size() == 2);
  CHECK(bad[0].state == Is::missing);
  CHECK(bad[1].text == "unshare: Operation not permitted");
  CHECK(bad[1].hint == "use root");
  CHECK(python_findings("not JSON")[0].state == Is::missing);
}

TEST_CASE("GPUs are listed in one line") {
  CHECK(gpu_finding("NVIDIA H100 PCIe, 570.1\nNVIDIA H100 PCIe, 570.1\n").text ==
        "NVIDIA H100 PCIe, 570.1; NVIDIA H100 PCIe, 570.1");
  CHECK(gpu_finding(std::nullopt).state == Is::good);
}

TEST_CASE("findings are printed with their hints, and something that is missing is a failure") {
  const std::vector<Finding> findings = {{Is::good, "jax", "0.10.2", ""},
                                         {Is::missing, "disk", "3 MB free", "make room"}};
  CHECK(findings_text(findings) ==
        "  good     jax          0.10.2\n"
        "  missing  disk         3 MB free\n"
        "                        hint: make room\n");
  const Status status = findings_status(findings, "doctor", "campaigns cannot run here");
  REQUIRE(!status);
  CHECK(status.error().message == "doctor: one thing is missing: campaigns cannot run here");
  CHECK(findings_status(std::span(findings).first(1), "doctor", ""));
}
