// Tests of adoption: from an exchange to a kernel and its variant.json.
#include "engine/llm/adopt.h"

#include "engine/llm/record.h"
#include "tests/catch.h"
#include "tests/fakes.h"

using namespace evolve;
using namespace evolve::llm;
using nlohmann::json;

namespace {

std::string kernel(const std::string& block) {
  return "import jax\n# EVOLVE-BLOCK-START\n" + block + "# EVOLVE-BLOCK-END\n";
}
const std::string old_block = "BLOCK = 128\ndef add(x):\n    return x\n";
const std::string reply =
    "<plan>bigger</plan>\n```python\nBLOCK = 256\ndef add(x):\n    return x\n```\n"
    "<learning>it helps</learning>";

Question question_of(int64_t max_tokens = 9) {
  ChatRequest request;
  request.base_url = "http://h/v1";
  request.model = "m";
  request.messages = {{"user", "?"}};
  request.max_tokens = max_tokens;
  return {"v0007", request};
}

AdoptRequest request_of(const std::string& text, const std::string& mode = "rewrite") {
  AdoptRequest out;
  out.prompt = json::parse(R"({"verdict":"ok","variant":"v0007","round":2,"model":"m",
    "parents":["v0001"],"prices":{"output_usd_per_million":1e6}})");
  out.prompt["request_digest"] = digest_of_request(request_record(question_of()));
  out.prompt["mode"] = mode;
  Exchange exchange;
  exchange.reply.text = text;
  exchange.reply.finish = Finish::stop;
  exchange.reply.input_tokens = 30;
  exchange.reply.output_tokens = 12;
  out.exchange = exchange_record(question_of(), exchange, "");
  out.spec = json::parse(R"({"entry":"add","parameters":[{"name":"BLOCK"}]})");
  out.id = "v0007";
  out.round = 2;
  out.parent = kernel(old_block);
  return out;
}

Adopted adopted(const AdoptRequest& request) {
  auto out = adopt(request);
  if (!out) FAIL(out.error().message);
  return *std::move(out);
}

}  // namespace

TEST_CASE("a usable reply becomes a kernel and a variant") {
  const Adopted out = adopted(request_of(reply));
  CHECK(out.kernel == kernel("BLOCK = 256\ndef add(x):\n    return x\n"));
  CHECK(out.variant == json::parse(R"({"id":"v0007","round":2,"mutator":"llm",
    "parents":["v0001"],"parameters":{"BLOCK":256},"note":"rewrite by m: bigger",
    "exchange":{"model":"m","mode":"rewrite","cost_usd":12.0,"tokens":42,
                "learnings":["it helps"]}})"));
}

TEST_CASE("an answer's cost is by the prompt's prices") {
  AdoptRequest request = request_of(reply);
  request.exchange["tokens"]["cached_input"] = 10;
  request.prompt["prices"] = {{"input_usd_per_million", 1e6},
                              {"cached_input_usd_per_million", 1e5},
                              {"output_usd_per_million", 1e7}};
  CHECK(adopted(request).variant["exchange"]["cost_usd"] == Approx(20 + 10 * 0.1 + 12 * 10));
  // The cost includes that of the plan.
  request.plan = {{"exchange", {{"cost_usd", 9.0}, {"tokens", 8}}}};
  CHECK(adopted(request).variant["exchange"]["cost_usd"] == Approx(150));
  CHECK(adopted(request).variant["exchange"]["tokens"] == 50);
}

TEST_CASE("a reply without the parameters' lines has none") {
  const Adopted out = adopted(request_of("```python\ndef add(x):\n    return x + 1\n```"));
  CHECK(!out.variant.contains("problem"));
  CHECK(out.variant["parameters"] == json::object());
}

TEST_CASE("an unusable reply is the parent's kernel and a reason") {
  const Adopted out = adopted(request_of("no"));
  CHECK(out.kernel == kernel(old_block));
  CHECK(out.variant["problem"]["kind"] == "no-code");
  CHECK(out.variant["parameters"]["BLOCK"] == 128);
  CHECK(out.variant["exchange"]["cost_usd"] == 12.0);
}

TEST_CASE("a prompt that was rejected is passed on") {
  AdoptRequest request = request_of(reply);
  const Question nothing = {"v0007", std::nullopt};
  request.prompt.update({{"verdict", "rejected"},
                         {"kind", "budget"},
                         {"reason", "no room"},
                         {"request_digest", digest_of_request(request_record(nothing))}});
  request.exchange = unasked_record(nothing);
  const Adopted out = adopted(request);
  CHECK(out.kernel == kernel(old_block));
  CHECK(out.variant["problem"] == json::parse(R"({"kind":"budget","reason":"no room"})"));
  CHECK(out.variant["exchange"]["cost_usd"] == 0.0);
}

TEST_CASE("a refusal is the variant's verdict, and has the cost of its requests") {
  AdoptRequest request = request_of(reply);
  Exchange exchange;
  exchange.refusal = "HTTP 400: too long";
  exchange.reply.text = "Yes.";
  exchange.reply.input_tokens = 8;
  exchange.reply.output_tokens = 2;
  request.exchange = exchange_record(question_of(), exchange, "");
  const Adopted out = adopted(request);
  CHECK(out.kernel == kernel(old_block));
  CHECK(out.variant["problem"] ==
        json::parse(R"({"kind":"refused","reason":"HTTP 400: too long"})"));
  CHECK(out.variant["exchange"]["cost_usd"] == 2.0);
}

TEST_CASE("repair changes the rejected kernel, and falls back to the parent") {
  AdoptRequest request = request_of(reply, "repair");
  request.prompt["parents"] = {"v0005", "v0001"};
  CHECK(!adopt(request));
  request.rejected = kernel("BLOCK = 1\ndef add(x):\n    return y\n");
  CHECK(adopted(request).kernel == kernel("BLOCK = 256\ndef add(x):\n    return x\n"));
  request = request_of("no", "repair");
  request.prompt["parents"] = {"v0005", "v0001"};
  request.rejected = kernel("BLOCK = 1\ndef add(x):\n    return y\n");
  CHECK(adopted(request).kernel == kernel(old_block));
}

TEST_CASE("records that do not belong together are refused") {
  AdoptRequest request = request_of(reply);
  request.id = "v0008";
  CHECK(!adopt(request));
  request = request_of(reply);
  request.prompt["request_digest"] = digest_of_request(request_record(question_of(10)));
  auto out = adopt(request);
  REQUIRE(!out);
  CHECK(out.error().message == "the exchange belongs to another prompt");
}
