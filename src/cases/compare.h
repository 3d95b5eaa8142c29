// Whether an output is what a case expects.
#pragma once

#include <string>

#include "cases/case.h"

namespace kiln::cases {

// Compares raw elements of `param.dtype` with the expected array by the param's rule: bit for bit (any NaN matches any NaN), or
// |got - expected| <= atol + rtol |expected| in double, integers and bool exactly. `mask` marks elements that are not compared (may be
// null). Empty when they agree, else the number of differences and the first one.
std::string compare(const Param& param, const Array& expected, const char* got, const Array* mask);

}  // namespace kiln::cases
