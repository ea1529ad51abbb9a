// The families, in the order in which they are asked.
#include "Families.h"

namespace glia::emit {

std::span<const Family *const> families() {
  static const std::vector<const Family *> all = {
      &gradientFamily(),    // claims sets of operations that others would take apart
      &rowsFamily(),        //
      &contractFamily(),    //
      &convolutionFamily(), //
      &movementFamily(),    //
      &controlFamily(),     //
      &kernelFamily(),      //
      &windowFamily(),      //
      &scanFamily(),        //
      &gatherFamily(),      //
      &scatterFamily(),     //
      &topKFamily(),        //
      &weightedFamily(),    //
      &collectiveFamily(),  // one per line
  };
  return all;
}

} // namespace glia::emit
