#include "k8s/claims.h"

#include <fmt/format.h>

#include <utility>

#include "k8s/fields.h"
#include "k8s/sight.h"

namespace evolve::k8s {

namespace {

using nlohmann::json;
using Kind = OrderClaims::Outcome::Kind;

}  // namespace

std::string OrderClaims::configmaps() const {
  return fmt::format("/api/v1/namespaces/{}/configmaps", space_);
}

std::string OrderClaims::path_of(const std::string& order) const {
  return configmaps() + "/" + claim_name(order);
}

Result<OrderClaims::Outcome> OrderClaims::claim(const std::string& order, const std::string& text,
                                                const std::string& job, const std::string& finished,
                                                double now) {
  auto made = api_.create(configmaps(), make_claim(order, text, job, space_, labels_));
  if (!made) return std::move(made).error();
  if (made->is_success()) return Outcome{Kind::ours, ""};
  if (made->status == kConflict) return look(order, text, job, finished, now);
  return failed(fmt::format("configmap {}: {}", claim_name(order), made->why()));
}

Result<OrderClaims::Outcome> OrderClaims::look(const std::string& order, const std::string& text,
                                               const std::string& job, const std::string& finished,
                                               double now) {
  auto there = api_.get(path_of(order));
  if (!there) return std::move(there).error();
  if (there->status == kNotFound) return Outcome{Kind::later, ""};
  if (!there->is_success()) {
    return failed(fmt::format("configmap {}: {}", claim_name(order), there->why()));
  }
  const JobSight claim = job_sight(there->body);  // it has as much of one
  const std::string owner = text_field(there->body, "/data/job");
  if (owner == job) return Outcome{Kind::ours, ""};
  if (owner != finished || owner.empty()) {
    auto is_there = has_job(owner);
    if (!is_there) return std::move(is_there).error();
    if (*is_there) {
      orphaned_.erase(order);
      return Outcome{Kind::taken, owner};
    }
    // Of this very process: a Job that it has done with.
    const bool is_of_us = claim.owner == labels_.at(label::kOwner) &&
                          (claim.session == labels_.at(label::kSession) || is_dead_(claim.session));
    const double since = orphaned_.try_emplace(order, now).first->second;
    if (!is_of_us && now < since + kStaleSeconds) {
      return Outcome{Kind::later, ""};
    }
  }
  // With the version that we saw: of two who take it one fails.
  auto taken = api_.patch(
      path_of(order), {{"metadata",
                        {{"resourceVersion", text_field(there->body, "/metadata/resourceVersion")},
                         {"ownerReferences", nullptr},
                         {"labels", labels_}}},
                       {"data", {{"job", job}, {"order", text}}}});
  if (!taken) return std::move(taken).error();
  if (!taken->is_success()) return Outcome{Kind::later, ""};
  orphaned_.erase(order);
  return Outcome{Kind::ours, ""};
}

Result<bool> OrderClaims::has_job(const std::string& job) {
  if (job.empty()) return false;
  auto there = api_.get(fmt::format("/apis/batch/v1/namespaces/{}/jobs/{}", space_, job));
  if (!there) return std::move(there).error();
  return there->is_success() && !job_sight(there->body).is_leaving;
}

Status OrderClaims::bind(const std::string& order, const std::string& job,
                         const std::string& job_uid) {
  auto bound = api_.patch(
      path_of(order),
      {{"metadata",
        {{"ownerReferences",
          {{{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"name", job}, {"uid", job_uid}}}}}}});
  if (!bound) return std::move(bound).error();
  return {};
}

Status OrderClaims::release(const std::string& order) {
  auto gone = api_.remove(path_of(order));
  if (!gone) return std::move(gone).error();
  return {};
}

}  // namespace evolve::k8s
