// The checks of `evolve cluster doctor`: which parts of a cluster are reachable, permitted and
// schedulable for us, and what is missing.
#pragma once

#include <string>
#include <vector>

#include "engine/core/finding.h"
#include "k8s/api.h"
#include "k8s/kubeconfig.h"

namespace evolve::k8s {

// A right that we need in our namespace, as the Role of k8s/rbac.yaml grants it.
struct Right {
  const char* group;     // "": the core group
  const char* resource;  // "pods/log" is a subresource
  const char* verb;
};
const std::vector<Right>& needed_rights();

// Runs one check after another. If the cluster cannot be reached, that is the only finding.
std::vector<Finding> examine(Api& api, const Access& access);

}  // namespace evolve::k8s
