#include "k8s/claims.h"

#include <fmt/format.h>

#include <utility>

#include "engine/core/json_read.h"
#include "k8s/object_state.h"

namespace evolve::k8s {

namespace {

using nlohmann::json;
using Kind = OrderClaims::Claim::Kind;

}  // namespace

std::string OrderClaims::configmaps() const {
  return fmt::format("/api/v1/namespaces/{}/configmaps", space_);
}

std::string OrderClaims::path_of(const std::string& order) const {
  return configmaps() + "/" + claim_name(order);
}

Result<OrderClaims::Claim> OrderClaims::claim(const std::string& order, const std::string& text,
                                              const std::string& job, const std::string& finished,
                                              double now) {
  TRY_ASSIGN(auto made, api_.create(configmaps(), make_claim(order, text, job, space_, labels_)));
  if (made.is_success()) return Claim{Kind::ours, ""};
  if (made.status == kConflict) return look(order, text, job, finished, now);
  return failed(fmt::format("configmap {}: {}", claim_name(order), made.why()));
}

Result<OrderClaims::Claim> OrderClaims::look(const std::string& order, const std::string& text,
                                             const std::string& job, const std::string& finished,
                                             double now) {
  TRY_ASSIGN(auto there, api_.get(path_of(order)));
  if (there.status == kNotFound) return Claim{Kind::later, ""};
  if (!there.is_success()) {
    return failed(fmt::format("configmap {}: {}", claim_name(order), there.why()));
  }
  const JobState claim = job_state(there.body);  // a ConfigMap has the same metadata
  const std::string owner = text_at_place(there.body, "/data/job");
  if (owner == job) return Claim{Kind::ours, ""};
  if (owner != finished || owner.empty()) {
    TRY_ASSIGN(auto is_there, has_job(owner));
    if (is_there) {
      orphaned_.erase(order);
      return Claim{Kind::taken, owner};
    }
    // A claim of ours needs no wait, because its Job, or the process that would make it, has ended.
    const bool is_of_us = claim.owner == labels_.at(label::kOwner) &&
                          (claim.session == labels_.at(label::kSession) || is_dead_(claim.session));
    const double since = orphaned_.try_emplace(order, now).first->second;
    if (!is_of_us && now < since + kStaleSeconds) {
      return Claim{Kind::later, ""};
    }
  }
  // The patch names the version that we saw, so if two processes take the claim, one of them fails.
  TRY_ASSIGN(
      auto taken,
      api_.patch(path_of(order),
                 {{"metadata",
                   {{"resourceVersion", text_at_place(there.body, "/metadata/resourceVersion")},
                    {"ownerReferences", nullptr},
                    {"labels", labels_}}},
                  {"data", {{"job", job}, {"order", text}}}}));
  if (!taken.is_success()) return Claim{Kind::later, ""};
  orphaned_.erase(order);
  return Claim{Kind::ours, ""};
}

Result<bool> OrderClaims::has_job(const std::string& job) {
  if (job.empty()) return false;
  TRY_ASSIGN(auto there,
             api_.get(fmt::format("/apis/batch/v1/namespaces/{}/jobs/{}", space_, job)));
  return there.is_success() && !job_state(there.body).is_leaving;
}

Status OrderClaims::bind(const std::string& order, const std::string& job,
                         const std::string& job_uid) {
  TRY(api_.patch(
      path_of(order),
      {{"metadata",
        {{"ownerReferences",
          {{{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"name", job}, {"uid", job_uid}}}}}}}));
  return {};
}

Status OrderClaims::release(const std::string& order) {
  TRY(api_.remove(path_of(order)));
  return {};
}

}  // namespace evolve::k8s
