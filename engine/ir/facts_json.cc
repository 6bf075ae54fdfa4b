#include "engine/ir/facts_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/core/json_fields.h"
#include "engine/ir/model/lost_time.h"

// Each list_fields() has the keys of one object of facts.json.
namespace evolve::ir {

template <class Fields, Is<CauseTime> T>
void list_fields(Fields& fields, T& one) {
  fields("cause", one.cause);
  fields("what", one.what);
  fields("seconds", one.seconds);
  fields("share", one.share);
}

template <class Fields, Is<Prize> T>
void list_fields(Fields& fields, T& one) {
  fields("what", one.what);
  fields("share", one.share);
}

template <class Fields, Is<BundleCounts> T>
void list_fields(Fields& fields, T& one) {
  fields("static", one.in_text);
  fields("executed", one.executed);
  fields("empty", one.empty);
}

template <class Fields, Is<MatmulCount> T>
void list_fields(Fields& fields, T& one) {
  fields("executed", one.executed);
  fields("busy_cycles", one.busy_cycles);
}

template <class Fields, Is<SpillCounts> T>
void list_fields(Fields& fields, T& one) {
  fields("stores_executed", one.stores_executed);
  fields("loads_executed", one.loads_executed);
}

template <class Fields, Is<DmaTotals> T>
void list_fields(Fields& fields, T& one) {
  fields("load_bytes", one.load_bytes);
  fields("store_bytes", one.store_bytes);
  fields("loads", one.loads);
  fields("stores", one.stores);
  fields.if_any("minimum_bytes", one.minimum_bytes);
}

template <class Fields, Is<ExecutionFacts> T>
void list_fields(Fields& fields, T& one) {
  fields("cycles", one.cycles);
  fields("seconds", one.seconds);
  fields("stall_cycles", one.stall_cycles);
  fields("by_cause", one.by_cause);
  fields("bottleneck", one.bottleneck);
  fields("evidence", one.evidence);
  fields("prize", one.prize);
  fields("bundles", one.bundles);
  fields("utilisation", one.utilisation);
  fields("matmuls", one.matmuls);
  fields("matmuls_by_opcode", one.matmuls_by_opcode);
  fields("opcodes", one.opcodes);
  fields("unknown_opcodes", one.unknown_opcodes);
  fields("unknown_guards", one.unknown_guards);
  fields("steps", one.steps);
  fields("spills", one.spills);
  fields("dma", one.dma);
}

template <class Fields, Is<OperandTraffic> T>
void list_fields(Fields& fields, T& one) {
  fields.or_null("operand", one.operand);
  fields.if_filled("kind", one.kind);
  fields.if_filled("shape", one.shape);
  fields.if_any("bytes", one.bytes);
  fields("loads", one.loads);
  fields("load_bytes", one.load_bytes);
  fields("stores", one.stores);
  fields("store_bytes", one.store_bytes);
  fields("wait_seconds", one.wait_seconds);
}

template <class Fields, Is<SectionWork> T>
void list_fields(Fields& fields, T& one) {
  fields("bundle", one.bundle);
  fields("bundles", one.bundles);
  fields("line", one.line);
  fields("times", one.times);
  fields("by_cause", one.by_cause);
  fields("opcodes", one.opcodes);
  fields("source", one.source);
}

// Returns a struct as the base struct that it extends.
template <class Base, class T>
auto& as(T& one) {
  return static_cast<std::conditional_t<std::is_const_v<T>, const Base&, Base&>>(one);
}

template <class Fields, Is<SectionFacts> T>
void list_fields(Fields& fields, T& one) {
  list_fields(fields, as<SectionWork>(one));
  fields("seconds", one.seconds);
}

template <class Fields, Is<LineTime> T>
void list_fields(Fields& fields, T& one) {
  fields("file", one.file);
  fields("line", one.line);
  fields("seconds", one.seconds);
  fields("share", one.share);
}

template <class Fields, Is<AllocationFacts> T>
void list_fields(Fields& fields, T& one) {
  fields("space", one.space);
  fields("bytes", one.bytes);
  fields.if_any("offset", one.offset);
  fields("shape", one.shape);
  fields("tag", one.tag);
  fields("spill", one.is_spill);
  fields.if_true("fixed", one.is_fixed);
  fields.if_any("live", one.live);
  fields("line", one.line);
}

template <class Fields, Is<MemoryUse> T>
void list_fields(Fields& fields, T& one) {
  fields("bytes", one.bytes);
  fields("peak_live_bytes", one.peak_live_bytes);
  fields("spilled_bytes", one.spilled_bytes);
}

template <class Fields, Is<StaticCounts> T>
void list_fields(Fields& fields, T& one) {
  fields("transfers", one.transfers);
  fields("waits", one.waits);
  fields("spills", one.spills);
  fields("fills", one.fills);
}

template <class Fields, Is<StaticUse> T>
void list_fields(Fields& fields, T& one) {
  fields("used", one.used);
  fields("available", one.available);
}

template <class Fields, Is<FactSource> T>
void list_fields(Fields& fields, T& one) {
  fields("file", one.file);
  fields.if_any("line", one.line);
}

template <class Fields, Is<KernelFacts> T>
void list_fields(Fields& fields, T& one) {
  list_fields(fields, as<ExecutionFacts>(one));
  fields("name", one.name);
  fields("times", one.times);
  fields("traffic", one.traffic);
  fields("sections", one.sections);
  fields("by_line", one.by_line);
  fields.if_any("allocations", one.allocations);
  fields.if_any("memory", one.memory);
  fields.if_any("static_counts", one.static_counts);
  fields.if_any("static_utilisation", one.static_utilisation);
  fields.if_any("bundle_profile", one.bundle_profile);
  fields.if_any("fingerprint", one.fingerprint);
  fields.if_filled("sources", one.sources);
}

template <class Fields, Is<ModelledTime> T>
void list_fields(Fields& fields, T& one) {
  fields("seconds", one.seconds);
  fields("low", one.low);
  fields("high", one.high);
  fields("cycles", one.cycles);
  fields("added_up_share", one.added_up_share);
  fields.if_any("cheaper_seconds", one.cheaper_seconds);
}

template <class Fields, Is<DataBranch> T>
void list_fields(Fields& fields, T& one) {
  fields("kernel", one.kernel);
  fields("what", one.what);
}

template <class Fields, Is<WindowFacts> T>
void list_fields(Fields& fields, T& one) {
  fields("module", one.module);
  fields("operand", one.operand);
  fields("window", one.window);
  fields("window_bytes", one.window_bytes);
  fields("bytes", one.bytes);
  fields("buffers", one.buffers);
}

template <class Fields, Is<VmemFacts> T>
void list_fields(Fields& fields, T& one) {
  fields.or_null("allocated_bytes", one.allocated_bytes);
  fields.or_null("spilled_bytes", one.spilled_bytes);
  fields("capacity_bytes", one.capacity_bytes);
  fields("windows", one.windows);
}

template <class Fields, Is<Roofline> T>
void list_fields(Fields& fields, T& one) {
  fields("compute_seconds", one.compute_seconds);
  fields("memory_seconds", one.memory_seconds);
  fields("bound", one.bound);
  fields("fraction_of_roofline", one.fraction_of_roofline);
  fields("flops_per_second", one.flops_per_second);
}

template <class Fields, Is<Signals::MatrixUnits> T>
void list_fields(Fields& fields, T& one) {
  fields.numbered("mxu", one.matmuls);
  fields("total", one.total);
  fields("dual_ratio", one.dual_ratio);
}

template <class Fields, Is<Signals::BundleDensity> T>
void list_fields(Fields& fields, T& one) {
  fields("total_bundles", one.total_bundles);
  fields("avg_ops_per_bundle", one.avg_ops_per_bundle);
  fields("max_ops_per_bundle", one.max_ops_per_bundle);
}

template <class Fields, Is<Signals::DmaAnalysis> T>
void list_fields(Fields& fields, T& one) {
  fields("dma_count", one.dma_count);
  fields("dma_sync_count", one.dma_sync_count);
  fields("double_buffering", one.double_buffering);
}

template <class Fields, Is<Signals::SpecialUnits> T>
void list_fields(Fields& fields, T& one) {
  fields("xlane_ops", one.xlane_ops);
  fields("eup_ops", one.eup_ops);
  fields("nop_count", one.nop_count);
}

template <class Fields, Is<Signals::VmemAllocation> T>
void list_fields(Fields& fields, T& one) {
  fields.or_null("vmem_bytes", one.vmem_bytes);
}

template <class Fields, Is<Signals::Utilisation> T>
void list_fields(Fields& fields, T& one) {
  fields("mxu_util_pct", one.mxu_util_pct);
  fields("scalar_alu_util_pct", one.scalar_alu_util_pct);
  fields("vector_alu_util_pct", one.vector_alu_util_pct);
  fields("vector_load_util_pct", one.vector_load_util_pct);
  fields("vector_store_util_pct", one.vector_store_util_pct);
  fields("vector_eup_util_pct", one.vector_eup_util_pct);
  fields("vector_fills", one.vector_fills);
  fields("vector_spills", one.vector_spills);
}

template <class Fields, Is<Signals> T>
void list_fields(Fields& fields, T& one) {
  fields("vliw_bundle_count", one.vliw_bundle_count);
  fields("mxu_utilization", one.mxu_utilization);
  fields("flops", one.flops);
  fields("hbm_bandwidth_bytes", one.hbm_bandwidth_bytes);
  fields.or_null("arithmetic_intensity", one.arithmetic_intensity);
  fields("compute_efficiency_pct", one.compute_efficiency_pct);
  fields("hbm_bandwidth_utilization_pct", one.hbm_bandwidth_utilization_pct);
  fields("vmem_allocation", one.vmem_allocation);
  fields.or_null("vmem_utilization_pct", one.vmem_utilization_pct);
  fields("bundle_density", one.bundle_density);
  fields("dma_analysis", one.dma_analysis);
  fields("special_units", one.special_units);
  fields("compute_ratio", one.compute_ratio);
  fields("memory_transfer_ratio", one.memory_transfer_ratio);
  fields("hw_utilization", one.hw_utilization);
}

template <class Fields, Is<FlopTotals> T>
void list_fields(Fields& fields, T& one) {
  fields("executed", one.executed);
  fields("minimum", one.minimum);
}

template <class Fields, Is<WorkFacts> T>
void list_fields(Fields& fields, T& one) {
  fields("matrix_flops", one.matrix_flops);
  fields("most_vector_flops", one.most_vector_flops);
  fields("uncertain_flops", one.uncertain_flops);
  fields("bytes", one.bytes);
  fields("store_bytes", one.store_bytes);
  fields.if_filled("guard", one.guard);
}

template <class Fields, Is<NeededFacts> T>
void list_fields(Fields& fields, T& one) {
  fields("flops", one.flops);
  fields("bytes", one.bytes);
  fields("output_bytes", one.output_bytes);
  fields("share", one.share);
  fields("is_average", one.is_average);
  fields("seconds", one.seconds);
}

template <class Fields, Is<Flaw> T>
void list_fields(Fields& fields, T& one) {
  fields("kind", one.kind);
  fields("reason", one.reason);
}

// The keys of the flaw, which are next to "verdict", are not listed here: to_json() adds them.
template <class Fields, Is<Facts> T>
void list_fields(Fields& fields, T& one) {
  list_fields(fields, as<ExecutionFacts>(one));
  fields("target", one.target);
  fields("model", one.model);
  fields("modelled", one.modelled);
  fields.if_filled("on_data", one.on_data);
  fields("vmem", one.vmem);
  fields("roofline", one.roofline);
  fields("kernels", one.kernels);
  fields("estimated", one.estimated);
  fields("not_modelled", one.not_modelled);
  fields("unread", one.unread);
  fields("signals", one.signals);
  fields("flops", one.flops);
  fields("work", one.work);
  fields.if_any("needed", one.needed);
}

namespace {

using nlohmann::json;

// Checks that facts have all causes, in their order.
void check_causes(const JsonReader& record, const std::vector<CauseTime>& causes) {
  bool is_right = causes.size() == kCauses;
  for (size_t i = 0; is_right && i < kCauses; ++i)
    is_right = causes[i].cause == cause_name(static_cast<Cause>(i));
  if (!is_right) record.note("its causes are not those that the model knows");
}

// Returns the JSON of a change: the seconds before and after, and the difference.
json change_json(const Change& change) {
  return {{"seconds", {change.before, change.after}}, {"difference", change.difference()}};
}

json section_json(const std::optional<SectionWork>& section) {
  return section ? FieldWriter::json_of(*section) : json();
}

}  // namespace

json to_json(const WorkFacts& work) {
  return FieldWriter::json_of(work);
}

json to_json(const NeededFacts& needed) {
  return FieldWriter::json_of(needed);
}

json to_json(const Facts& facts) {
  json out = FieldWriter::json_of(facts);
  out["verdict"] = facts.flaw ? "rejected" : "ok";
  if (facts.flaw) out.update(FieldWriter::json_of(*facts.flaw));
  return out;
}

Result<Facts> facts_from_json(const json& record) {
  const JsonReader reader(record);
  Facts out;
  FieldReader::read(reader, out);
  if (reader.at("verdict").text() != "ok") FieldReader::read(reader, out.flaw.emplace());
  check_causes(reader, out.by_cause);
  for (size_t i = 0; i < out.kernels.size(); ++i)
    check_causes(reader.at("kernels").items()[i], out.kernels[i].by_cause);
  TRY(reader.status());
  return out;
}

json to_json(const FactsComparison& comparison) {
  json by_cause = json::array(), kernels = json::array(), sections = json::array(),
       counts = json::array();
  for (const CauseChange& one : comparison.by_cause) {
    by_cause.push_back({{"cause", one.cause}, {"what", one.what}});
    by_cause.back().update(change_json(one.seconds));
  }
  for (const ModuleChange& one : comparison.kernels) {
    kernels.push_back({{"name", one.name}});
    kernels.back().update(change_json(one.seconds));
  }
  for (const SectionChange& one : comparison.sections) {
    sections.push_back(
        {{"module", one.module},
         {"sections", json::array({section_json(one.before), section_json(one.after)})}});
    sections.back().update(change_json(one.seconds));
  }
  for (const CountChange& one : comparison.counts)
    counts.push_back({{"what", one.what}, {"unit", one.unit}, {"values", {one.before, one.after}}});
  json out = {{"targets", comparison.targets},   {"is_tie", comparison.is_tie},
              {"by_cause", std::move(by_cause)}, {"kernels", std::move(kernels)},
              {"sections", std::move(sections)}, {"counts", std::move(counts)}};
  out.update(change_json(comparison.seconds));
  return out;
}

}  // namespace evolve::ir
