// A report as one HTML file, which needs neither a server nor a network. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/html/report_data.h"

namespace instr {

// The values as the page's scripts read them: numbers stand for texts that occur often.
nlohmann::ordered_json report_json(const ReportData& data);

// `made`: when, UTC.
std::string report_page(const ReportData& data, const std::string& made);

}  // namespace instr
