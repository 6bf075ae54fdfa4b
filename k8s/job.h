// The objects that we make: Jobs, from templates as Glaucis has them, and the ConfigMaps with their
// orders. Pure.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "k8s/order.h"

namespace evolve::k8s {

// What all Jobs of a node pool have in common.
struct JobSettings {
  std::string template_path;   // for messages
  std::string template_text;   // YAML with ${JOB_NAME} and so on
  std::string space;           // the namespace
  std::string image;           // empty: the template's
  std::string store;           // address of the store, as pods see it
  std::string queue;           // Kueue's local queue; empty: none
  std::string priority_class;  // empty: the template's
  std::string repo, branch;    // for templates that ask for them
  int order_seconds = 600;     // that an order may take, of the Job's deadline
  int at_once = 1;             // orders, in a pod
};

using Labels = std::map<std::string, std::string>;

// The name of the Job for these orders; `attempt` counts from 0.
std::string job_name(const std::vector<std::string>& orders, int attempt);
// The name of an order's ConfigMap: the claim on it, and what its Job reads.
std::string claim_name(const std::string& order);

// A Job that runs the agent on orders, which are the names of orders. Bad input: the template is
// broken, is no Job, or has no container; with its place.
//
// Of the template's own variables ${JOB_NAME}, ${BRANCH}, ${REPO}, ${VARIANT_ID} and
// ${ACTIVE_DEADLINE} are replaced, as Glaucis does. What stands in the template stays, but for the
// name, the namespace, the restart policy, the first container's command, and the volume or the
// variables of the ConfigMap "${JOB_NAME}-payload": the orders are there.
Result<nlohmann::json> make_job(const JobSettings& settings, const std::string& name,
                                const std::vector<std::string>& orders, const Labels& labels);

// The ConfigMap of an order that `job` is to run.
nlohmann::json make_claim(const std::string& order, const std::string& text, const std::string& job,
                          const std::string& space, const Labels& labels);

// A label's value: what is not allowed there becomes '-', and the rest is cut.
std::string label_value(const std::string& text);

}  // namespace evolve::k8s
