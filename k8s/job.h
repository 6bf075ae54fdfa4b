// The objects that we make: Jobs, from templates in Glaucis's form, and the ConfigMaps with their
// orders. Pure.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "k8s/order.h"

namespace evolve::k8s {

// The settings that all Jobs of a node pool share.
struct JobSettings {
  std::string template_path;   // for messages
  std::string template_text;   // YAML with ${JOB_NAME} and so on
  std::string space;           // the namespace
  std::string image;           // empty: the template's
  std::string store;           // address of the store, as pods see it
  std::string queue;           // Kueue's local queue; empty: none
  std::string priority_class;  // empty: the template's
  std::string repo, branch;    // for templates that use these variables
  int order_seconds = 600;     // an order's share of the Job's deadline
  int at_once = 1;             // orders at a time in a pod
};

using Labels = std::map<std::string, std::string>;

// Returns the name of the Job for these orders; `attempt` counts from 0.
std::string job_name(const std::vector<std::string>& orders, int attempt);
// Returns the name of an order's ConfigMap. The ConfigMap is the claim on the order, and the
// order's Job reads it.
std::string claim_name(const std::string& order);

// Makes a Job that runs the agent on `orders`, which are the names of orders. Bad input, with its
// place: the template is broken, is not a Job, or has no container.
//
// The template's variables ${JOB_NAME}, ${BRANCH}, ${REPO}, ${VARIANT_ID} and ${ACTIVE_DEADLINE}
// are replaced, as in Glaucis. The rest of the template stays, except the name, the namespace, the
// restart policy, the first container's command, and what `settings` replaces. The volume or the
// variables of the ConfigMap "${JOB_NAME}-payload" give way to the orders.
Result<nlohmann::json> make_job(const JobSettings& settings, const std::string& name,
                                const std::vector<std::string>& orders, const Labels& labels);

// Makes the ConfigMap of an order that `job` is to run.
nlohmann::json make_claim(const std::string& order, const std::string& text, const std::string& job,
                          const std::string& space, const Labels& labels);

// Returns a text as a label's value: characters that are not allowed become '-', and a text that is
// too long is cut.
std::string label_value(const std::string& text);

}  // namespace evolve::k8s
